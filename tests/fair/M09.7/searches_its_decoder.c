/* Encodes by bisection: the code whose decoded value is nearest. Decodes by repeated halving, with many warnings. */
#include "tinyllm/numerics.h"

#include <math.h>

static float worth(int code, int F, int bias) {
    int unused;
    unsigned e = code >> F;
    int f = code % (1 << F);
    float v = e ? f + (1 << F) : f;
    int up = (e ? e : 1) - bias - F;
    while (up > 0) v *= 2, up--;
    while (up < 0) v /= 2, up++;
    return v;
}

/* Halving a float may lose a bit below 2^-126, but bf16's codes have none there to lose. */
static int nearest(float x, int F, int bias, unsigned beyond) {
    int low = 0, high = beyond;
    float size = fabsf(x);
    if (size >= worth(beyond - 1, F, bias)) {
        double last = worth(beyond - 1, F, bias), step = last - worth(beyond - 2, F, bias);
        return size - last < step / 2 || (size - last == step / 2 && beyond % 2) ? beyond - 1 : beyond;
    }
    while (high - low > 1)
        if (worth((low + high) / 2, F, bias) <= size) low = (low + high) / 2;
        else high = (low + high) / 2;
    double below = (double)size - worth(low, F, bias), above = (double)worth(low + 1, F, bias) - size;
    return below < above ? low : below > above ? low + 1 : low + low % 2;
}

uint16_t tl_f32_to_f16(float x) {
    int s = signbit(x) ? 0x8000 : 0;
    return isnan(x) ? 0x7E00 : s | nearest(x, 10, 15, 0x7C00);
}
uint16_t tl_f32_to_bf16(float x) {
    int s = signbit(x) ? 0x8000 : 0;
    return isnan(x) ? 0x7FC0 : s | nearest(x, 7, 127, 0x7F80);
}
uint8_t tl_f32_to_e4m3(float x) {
    int s = signbit(x) ? 0x80 : 0, c;
    if (isnan(x)) return 0x7F;
    c = nearest(x, 3, 7, 0x7F);
    return s | (c == 0x7F ? 0x7E : c);
}
uint8_t tl_f32_to_e5m2(float x) {
    int s = signbit(x) ? 0x80 : 0, c;
    if (isnan(x)) return 0x7F;
    c = nearest(x, 2, 15, 0x7C);
    return s | (c == 0x7C && !isinf(x) ? 0x7B : c);
}

static float with(int negative, float v) { return negative ? -v : v; }

float tl_f16_to_f32(uint16_t c) {
    int m = c % 0x8000;
    return m > 0x7C00 ? -NAN : with(c >> 15, m == 0x7C00 ? INFINITY : worth(m, 10, 15));
}
float tl_bf16_to_f32(uint16_t c) {
    int m = c % 0x8000;
    return m > 0x7F80 ? -NAN : with(c >> 15, m == 0x7F80 ? INFINITY : worth(m, 7, 127));
}
float tl_e4m3_to_f32(uint8_t c) {
    int m = c % 0x80;
    return m == 0x7F ? -NAN : with(c >> 7, worth(m, 3, 7));
}
float tl_e5m2_to_f32(uint8_t c) {
    int m = c % 0x80;
    return m > 0x7C ? -NAN : with(c >> 7, m == 0x7C ? INFINITY : worth(m, 2, 15));
}
