/* Bits, matrices and floats: unions, bit-fields, shifts, multiply-accumulate, comparisons with NaN. */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { N = 4, MASK = (1 << 5) - 1 };
#define SWAP(a, b) do { uint32_t t_ = (a); (a) = (b); (b) = t_; } while (0)
#define BIT(n) (1u << (n))
#define EPSILON 1e-6f

typedef float matrix[N][N];

typedef union {
    float f;
    uint32_t u;
    struct {
        uint32_t fraction : 23;
        uint32_t exponent : 8;
        uint32_t sign : 1;
    } parts;
} pun;

typedef struct {
    unsigned ready : 1, mode : 3;
    int delta : 4;
    uint8_t pad[8];
} flags;

int popcount(uint32_t x) {
    int n = 0;
    while (x) {
        x &= x - 1;
        n++;
    }
    return n;
}

uint32_t reverse(uint32_t x) {
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0F0F0F0Fu) | ((x & 0x0F0F0F0Fu) << 4);
    return (x >> 24) | ((x >> 8) & 0xFF00u) | ((x << 8) & 0xFF0000u) | (x << 24);
}

uint32_t rotate(uint32_t x, unsigned n) {
    n %= 32;
    return n ? x << n | x >> (32 - n) : x;
}

int exponent_of(float x) {
    const pun p = {.f = x};
    return (int)p.parts.exponent - 127;
}

float negate(float x) {
    pun p;
    p.f = x;
    p.u ^= BIT(31);
    return p.f;
}

int next_mode(flags *f) {
    if (!f->ready) return -1;
    f->mode++;
    f->delta -= 1;
    f->pad[2 + (f->mode & 1)] = (uint8_t)(f->mode << 2 & MASK);
    return f->mode == 0 || f->delta < -4;
}

void multiply(const matrix a, const matrix b, matrix out) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0.0f;
            for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j];
            out[i][j] = sum;
        }
}

void transpose(float *m, int rows) {
    for (int i = 1; i < rows; ++i)
        for (int j = 0; j < i; ++j) {
            float *p = m + i * rows + j, *q = &m[j * rows + i];
            const float t = *p;
            *p = *q;
            *q = t;
        }
}

double trace(const matrix m) {
    double total = 0.;
    for (int i = N - 1; i >= 0; i--) total += m[i][i];
    return -total / -1.0;
}

int nearly(float a, float b) {
    if (a != a || b != b) return 0;
    return fabsf(a - b) <= EPSILON * fmaxf(1.0f, fabsf(a));
}

float clamp(float x, float low, float high) { return !(x >= low) ? low : x > high ? high : x; }

uint64_t mix(uint64_t h) {
    static const uint64_t prime = UINT64_C(1099511628211);
    h ^= h >> 33, h *= prime;
    h = ~h + (h << 21);
    return h;
}

uint32_t sort3(uint32_t v[static 3]) {
    if (v[0] > v[1]) SWAP(v[0], v[1]);
    if (v[1] > v[2]) SWAP(v[1], v[2]);
    if (v[0] > v[1]) SWAP(v[0], v[1]);
    return v[2] - v[0];
}

int parity(uint32_t x) {
    int odd = 0;
    for (int i = 0; i < 32; i += 8) odd ^= popcount(x >> i & 0xFF) % 2;
    return odd;
}
