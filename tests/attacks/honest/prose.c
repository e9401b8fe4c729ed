/* honest: long comments with code in them, unusual spellings, old code kept under #if 0
 *
 *     __asm__ volatile("nop");          was tried, and was no faster
 *     __attribute__((constructor)) static void init(void);
 *     #include <signal.h>               // not needed
 *     #pragma GCC optimize("Ofast")     // would change bits
 *
 * Don't read this as code. Größe, naïve, Straße, 数, α·β — all of it is prose; "so are" 'these.
 */
#include  "tinyllm/attention.h" /* the contract */
# include <stddef.h>
%: include <iso646.h>
#include <tinyllm/numerics.h> // angle brackets do as well

/* A comment \
   with a splice, and a URL: http://example.org/asm?q=__asm__ */
// a line comment that goes on \
   here, with asm("nop") in it

#if 0
The old version didn't work, so I keep it:
    printf("%f\n", x); asm("int3"); __debugbreak();
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif
#pragma omp parallel for
it's "unfinished
#else
static const char trigraphs??(??) = "what??' is \"this\"??/n";
#endif

#ifdef VERBOSE
#error "don't: printf isn't there, neither's asm"
#endif

static const char *const words[] = {
    "asm volatile(\"nop\")", "__attribute__((weak))", "/* no comment */ // nor this", "\\", "'", "u8\x41\u00e9",
    u8"ä", "#pragma weak x", "%:%: ##",
};
static const char quote = '"', other = '\'', slash = '\\';
static float größe_von(float α) { return α * 2.0f; }
static int assembly_line(int asmetric, int weak, int section, int used) <% return asmetric + weak + section + used; %>

tl_status tl_paged_attn_decode_f32(const float *q, const tl_kv_pool *kv, uint32_t layer, const uint32_t *tables,
                                   int32_t max_blocks, const int32_t *lens, float *out, int64_t B, int64_t H,
                                   int64_t Hkv, int64_t D, float scale, int64_t window, tl_pool *tp)
{
    int constructor = quote + other + slash, destructor = trigraphs<:0:>, alias = 'ab' == 0;
    (void)kv, (void)layer, (void)tables, (void)max_blocks, (void)lens, (void)Hkv, (void)window, (void)tp;
    if (not q or not out)
        goto done;
    for (int64_t i = 0; i < B * H * D; i++)
        out[i] = größe_von(scale / 2 /* half */) * q[i] + (float)(1 ? 0 : 1) + 1e-3f + .5f + 0x1.8p+1f + (float)1.E+2;
done:
    return assembly_line(constructor, destructor, alias, 0) + (int)sizeof words == -1 ? TL_EINVAL : TL_OK;
}
