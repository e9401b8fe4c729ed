/* Appended to bits.c or to its schemata: calls one function on many inputs and prints a digest of what came,
 * in a child per mutant. Buffers have margins, so that an index out of range still means the same. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t digest;
static float cells[3][4096];

static void saw(uint64_t x) { digest = (digest ^ x) * 1099511628211u + 7; }
static void saw_float(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    saw(x != x ? 1 : bits);
}
static void saw_cells(void) {
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 4096; i++) saw_float(cells[c][i]);
}
static void fill(void) {
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < 4096; i++) cells[c][i] = (float)((i * 37 + c * 11) % 23 - 7);
}

static const uint32_t words[] = {0, 1, 2, 3, 0x80, 0xFF, 0x100, 0x12345678, 0x80000000u, 0xFFFFFFFFu, 0xAAAAAAAAu};
static const float floats[] = {0.0f, -0.0f, 1.0f, -1.0f, 1.0000001f, 0.5f, 3e38f, -2.5f, 1e-7f, NAN, INFINITY, -INFINITY};
#define EACH(i, array) for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)

static void on_popcount(int (*f)(uint32_t)) { EACH(i, words) saw((uint64_t)f(words[i])); }
static void on_parity(int (*f)(uint32_t)) { on_popcount(f); }
static void on_reverse(uint32_t (*f)(uint32_t)) { EACH(i, words) saw(f(words[i])); }
static void on_rotate(uint32_t (*f)(uint32_t, unsigned)) {
    EACH(i, words) for (unsigned n = 0; n < 70; n += 3) saw(f(words[i], n));
}
static void on_exponent_of(int (*f)(float)) { EACH(i, floats) saw((uint64_t)f(floats[i])); }
static void on_negate(float (*f)(float)) { EACH(i, floats) saw_float(f(floats[i])); }
static void on_next_mode(int (*f)(flags *)) {
    for (unsigned k = 0; k < 64; k++) {
        struct { flags before[2], it, after[2]; } all = {0};
        all.it = (flags){.ready = k & 1, .mode = k >> 1 & 7, .delta = (int)(k % 13) - 6};
        saw((uint64_t)f(&all.it));
        saw(all.it.mode), saw((uint64_t)all.it.delta), saw(all.it.pad[0]), saw(all.it.pad[1]);
        for (size_t i = 0; i < sizeof all; i++) saw(((unsigned char *)&all)[i]);
    }
}
static void on_multiply(void (*f)(const matrix, const matrix, matrix)) {
    fill();
    f((const float(*)[N])(cells[0] + 2048), (const float(*)[N])(cells[1] + 2048), (float(*)[N])(cells[2] + 2048));
    saw_cells();
}
static void on_transpose(void (*f)(float *, int)) {
    for (int rows = 0; rows < 6; rows++) fill(), f(cells[1] + 2048, rows), saw_cells();
}
static void on_trace(double (*f)(const matrix)) {
    fill();
    saw_float(f((const float(*)[N])(cells[1] + 2048)));
}
static void on_nearly(int (*f)(float, float)) {
    EACH(i, floats) EACH(j, floats) saw((uint64_t)f(floats[i], floats[j]));
}
static void on_clamp(float (*f)(float, float, float)) {
    EACH(i, floats) EACH(j, floats) EACH(k, floats) saw_float(f(floats[i], floats[j], floats[k]));
}
static void on_mix(uint64_t (*f)(uint64_t)) { EACH(i, words) saw(f(words[i] * 0x100000001ull)); }
static void on_sort3(uint32_t (*f)(uint32_t *)) {
    for (unsigned k = 0; k < 64; k++) {
        uint32_t v[64] = {0};
        v[32] = k & 3, v[33] = k >> 2 & 3, v[34] = k >> 4;
        saw(f(v + 32));
        for (int i = 0; i < 64; i++) saw(v[i]);
    }
}

static void call(int number);

int main(int count, char **arguments) {
    (void)count;
    for (int number = 0; number <= atoi(arguments[1]); number++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            const struct itimerval limit = {.it_value = {.tv_usec = 50000}};
            setitimer(ITIMER_VIRTUAL, &limit, NULL);
            call(number);
            printf("%d %llx\n", number, (unsigned long long)digest);
            fflush(stdout);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (status != 0) printf("%d broken\n", number);
    }
    return 0;
}
