/* layout.c: compile-time checks of the C contracts that are written down in c/ABI.md.
 *
 * Compiling this file is the test; it holds for 64-bit targets and includes nothing but the umbrella header.
 */
#include "tinyllm.h"

#define CHECK(condition) _Static_assert(condition, #condition)
#define CHECK_FIELD(type, field, at, bytes)     \
    CHECK(offsetof(type, field) == (at));       \
    CHECK(sizeof(((type *)0)->field) == (bytes))

CHECK(sizeof(void *) == 8);
CHECK(sizeof(size_t) == 8);
CHECK(sizeof(float) == 4);

/* scalars: 4 bytes and signed */
CHECK(sizeof(tl_status) == 4);
CHECK((tl_status)-1 < 0);
CHECK(sizeof(tl_dtype) == 4);
CHECK((tl_dtype)-1 < 0);

/* constants */
CHECK(TL_ABI_VERSION == 1);
CHECK(TL_LAST_ERROR_CAP == 256);
CHECK(TL_KV_FORMAT_V1 == 1u);

CHECK(TL_OK == 0);
CHECK(TL_EINVAL == 1);
CHECK(TL_ENOMEM == 2);
CHECK(TL_ESHAPE == 3);
CHECK(TL_EDTYPE == 4);
CHECK(TL_EFULL == 5);
CHECK(TL_ENOTFOUND == 6);
CHECK(TL_EFORMAT == 7);
CHECK(TL_EBUSY == 8);
CHECK(TL_EUNSUPPORTED == 9);
CHECK(TL_EIO == 10);

CHECK(TL_F32 == 0);
CHECK(TL_F16 == 1);
CHECK(TL_BF16 == 2);
CHECK(TL_F8_E4M3 == 3);
CHECK(TL_F8_E5M2 == 4);
CHECK(TL_I8 == 5);
CHECK(TL_U8 == 6);
CHECK(TL_I32 == 7);
CHECK(TL_Q4_G == 8);

/* structs: every field in order, then the whole */
CHECK_FIELD(tl_allocator, alloc, 0, 8);
CHECK_FIELD(tl_allocator, free, 8, 8);
CHECK_FIELD(tl_allocator, user, 16, 8);
CHECK(sizeof(tl_allocator) == 24);

CHECK_FIELD(tl_arena_mark, offset, 0, 8);
CHECK_FIELD(tl_arena_mark, block, 8, 8);
CHECK(sizeof(tl_arena_mark) == 16);

CHECK_FIELD(tl_arena_stats, bytes_used, 0, 8);
CHECK_FIELD(tl_arena_stats, bytes_reserved, 8, 8);
CHECK_FIELD(tl_arena_stats, high_water, 16, 8);
CHECK_FIELD(tl_arena_stats, n_blocks, 24, 8);
CHECK(sizeof(tl_arena_stats) == 32);

CHECK_FIELD(tl_kv_cfg, n_blocks, 0, 4);
CHECK_FIELD(tl_kv_cfg, block_tokens, 4, 4);
CHECK_FIELD(tl_kv_cfg, n_layers, 8, 4);
CHECK_FIELD(tl_kv_cfg, n_kv_heads, 12, 4);
CHECK_FIELD(tl_kv_cfg, head_dim, 16, 4);
CHECK_FIELD(tl_kv_cfg, dtype, 20, 4);
CHECK_FIELD(tl_kv_cfg, format, 24, 4);
CHECK(sizeof(tl_kv_cfg) == 28);

CHECK_FIELD(tl_kv_stats, free, 0, 4);
CHECK_FIELD(tl_kv_stats, used, 4, 4);
CHECK_FIELD(tl_kv_stats, cached, 8, 4);
CHECK_FIELD(tl_kv_stats, evictions, 12, 4);
CHECK(sizeof(tl_kv_stats) == 16);
