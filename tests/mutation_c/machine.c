/* State machines and dialects: switch and goto, tables of functions, attributes, typeof, conditionals. */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))
#define UNUSED(x) ((void)(x))
#define likely(x) __builtin_expect(!!(x), 1)
#define LIMIT 8
#define real double
#ifdef __cplusplus
extern "C" {
#endif

typedef enum state { IDLE, RUN, WAIT, STOP, STATES } state;
typedef struct machine machine;
typedef state handler(machine *m, int event);

struct machine {
    state now;
    unsigned ticks;
    int queue[LIMIT];
    int head, tail;
    handler *handlers[STATES];
};

_Static_assert(STATES == 4, "one handler per state");
static _Thread_local int last_event;

API bool enqueue(machine *m, int event) {
    const int next = (m->tail + 1) % LIMIT;
    if (next == m->head) return false;
    m->queue[m->tail] = event;
    m->tail = next;
    return true;
}

API int dequeue(machine *m, int *event) {
    if (m->head == m->tail) return 0;
    *event = m->queue[m->head++];
    m->head %= LIMIT;
    return 1;
}

static state on_idle(machine *m, int event) {
    UNUSED(m);
    switch (event) {
    case 0: return IDLE;
    case 1 ... 3: return RUN;
    case -1: return STOP;
    default: {
        assert(event > 3);
        last_event = event;
    }
    }
    return WAIT;
}

static __inline__ state on_run(machine *__restrict__ m, int event) {
    m->ticks += (unsigned)event;
    if (likely(m->ticks < LIMIT)) return RUN;
    else if (m->ticks == LIMIT) return WAIT;
    return STOP;
}

static state on_wait(machine *m, int event) {
    __typeof__(m->ticks) left = m->ticks ?: 1;
    return event > 0 && --left > 0 ? WAIT : IDLE;
}

int run(machine *m) {
    int event, steps = 0;
again:
    while (dequeue(m, &event)) {
        if (event == 99) goto done;
        if (m->handlers[m->now] == 0) continue;
        m->now = m->handlers[m->now](m, event);
        steps++;
        if (m->now == STOP) break;
    }
    if (m->now == WAIT && enqueue(m, 0)) goto again;
done:
    return steps;
}

machine *machine_new(void) {
    machine *m = calloc(1, sizeof *m);
    if (m == NULL) return NULL;
    m->handlers[IDLE] = on_idle;
    m->handlers[RUN] = on_run;
    m->handlers[WAIT] = &on_wait;
    return m;
}

real average(const machine *m) {
    real total = 0;
    int n = 0;
    for (int i = m->head; i != m->tail; i = (i + 1) % LIMIT, n++) total += m->queue[i];
    return n ? total / n : 0.0;
}

#if 0
int never(int a) { return a + 1; }
#elif defined(__STDC__)
int largest(const int *v, int n) {
    int best = v[0];
    for (int i = 1; i < n; i++) best = __extension__ ({ int t = v[i]; t > best ? t : best; });
    return best;
}
#else
int largest(const int *v, int n) { return v[n]; }
#endif

void duff(char *to, const char *from, int count) {
    int n = (count + 3) / 4;
    switch (count % 4) {
    case 0: do { *to++ = *from++;
    case 3:      *to++ = *from++;
    case 2:      *to++ = *from++;
    case 1:      *to++ = *from++;
            } while (--n > 0);
    }
}

unsigned spin(volatile unsigned *flag, _Atomic int *count) {
    unsigned turns = 0u;
    for (;;) {
        __asm__ volatile("" ::: "memory");
        if (*flag & 1 || turns >= 1000) break;
        *count += 1;
        turns++;
    }
    return turns;
}

#ifdef __cplusplus
}
#endif
