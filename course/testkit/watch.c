/* The watch over a child: what it writes is read without ever blocking on it, its limits are kept, and
 * when it is over nothing that it started is left. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor.h"

enum { TICK_MS = 10, AFTER_END_MS = 300, LEAST_ROOM = 16 << 10, MUCH = 16 << 10 };

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

void capture_free(struct capture *c) {
    if (c->fd >= 0) close(c->fd);
    if (c->at) munmap(c->at, c->room);
    *c = (struct capture){.fd = -1};
}

/* Keeps the first and the last half of what comes; the middle is dropped and counted. */
static void keep_ends(struct capture *c, const unsigned char *bytes, size_t n) {
    size_t head = c->cap / 2, tail = c->cap - head;
    if (c->n < head) {
        memcpy(c->at + c->n, bytes, head - c->n);
        bytes += head - c->n;
        n -= head - c->n;
        c->n = head;
    }
    if (n > tail) {
        c->dropped += n - tail;
        bytes += n - tail;
        n = tail;
    }
    size_t excess = c->n + n > c->cap ? c->n + n - c->cap : 0;
    memmove(c->at + head, c->at + head + excess, c->n - head - excess);
    memcpy(c->at + c->n - excess, bytes, n);
    c->n += n - excess;
    c->dropped += excess;
}

/* Not from the heap, and not for children to copy: see tree.c. */
static int grow(struct capture *c, size_t room) {
    const int how = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
    void *at = c->at ? mremap(c->at, c->room, room, MREMAP_MAYMOVE) : mmap(NULL, room, how, kind, -1, 0);
    if (at == MAP_FAILED) return 0;
    madvise(at, room, MADV_DONTFORK);
    c->at = at;
    c->room = room;
    return 1;
}

/* Returns 0 when there is no memory for the bytes, or when a whole capture would pass its cap. */
static int keep(struct capture *c, const unsigned char *bytes, size_t n) {
    if (c->whole && c->n + n > c->cap) return 0;
    if (c->room < c->cap && c->n + n > c->room) {
        size_t room = 2 * (c->n + n) + LEAST_ROOM;
        if (!grow(c, room < c->cap ? room : c->cap)) return 0;
    }
    if (c->n + n > c->cap) {
        keep_ends(c, bytes, n);
        return 1;
    }
    memcpy(c->at + c->n, bytes, n);
    c->n += n;
    return 1;
}

/* Returns 0 when the descriptor is finished, -1 when its cap is passed, 1 otherwise. */
static int drain(struct capture *c) {
    unsigned char bytes[65536];
    for (int k = 0; k < 16; k++) {
        ssize_t n = read(c->fd, bytes, sizeof bytes);
        if (n < 0) return errno == EAGAIN || errno == EINTR ? 1 : 0;
        if (n == 0) return 0;
        if (!keep(c, bytes, (size_t)n)) return -1;
    }
    return 1;
}

static void end_group(pid_t pid) {
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
}

/* Waits for bytes or for the process behind `ends`, -1 where nobody can tell of its end, and reads what is there.
 * Returns how many captures are still open, -1 when a cap is passed. */
static int read_ready(struct outcome *o, int ends, int wait_ms) {
    struct capture *all[] = {&o->stream, &o->out, &o->err};
    struct pollfd p[4] = {[3] = {.fd = ends, .events = POLLIN}};
    int open = 0;
    for (int k = 0; k < 3; k++) {
        p[k] = (struct pollfd){.fd = all[k]->fd, .events = POLLIN};
        open += all[k]->fd >= 0;
    }
    if ((open == 0 && ends < 0) || poll(p, 4, wait_ms) <= 0) return open;
    for (int k = 0; k < 3; k++) {
        if (p[k].fd < 0 || !p[k].revents) continue;
        int state = drain(all[k]);
        if (state < 0) return -1;
        if (state == 0) {
            close(all[k]->fd);
            all[k]->fd = -1;
        }
    }
    return open;
}

/* Whether `ol` is gone: this process is then the last that can end what the unit started. */
static int nobody_reads(void) {
    struct pollfd results = {.fd = 1};
    return poll(&results, 1, 0) > 0 && results.revents & POLLERR;
}

static void thread_waited(pid_t pid, pid_t thread, void *longest_us) {
    char path[96], text[128];
    unsigned long long waited_ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    if (read_text(path, text, sizeof text) == 0 || sscanf(text, "%*u %llu", &waited_ns) != 1) return;
    if (waited_ns / 1000u > *(uint64_t *)longest_us) *(uint64_t *)longest_us = waited_ns / 1000u;
}

/* The longest that one of the child's threads has waited for a processor: a busy machine's time, not the
 * unit's. 0 where the kernel does not say. */
static uint64_t waited_us(pid_t pid) {
    uint64_t longest = 0;
    of_threads(pid, thread_waited, &longest);
    return longest;
}

/* After the limit a unit goes on only where the machine was too busy for it: as long as it has waited for a
 * processor, has not had one for the limit, by all that it started together, and three times the limit have
 * not passed. So one that loops gets its limit of processor time, and a correct one never pays for others. */
static int is_late(const struct request *q, pid_t pid, uint64_t start) {
    const uint64_t limit = (uint64_t)q->limits.wall_ms * 1000u, wall = now_us() - start;
    if (wall <= limit) return 0;
    return wall > 3 * limit || wall > limit + waited_us(pid) || tree_cpu_ms() * 1000u > limit;
}

/* `waiting` is what was seen at the last look. Nobody but a thread of its own wakes the child. */
static int is_stuck(pid_t pid, uint64_t *waiting) {
    const uint64_t before = *waiting;
    *waiting = who_waits(pid);
    return *waiting && *waiting == before && tree_size() == 1;
}

static int over_limit(const struct request *q, struct outcome *o, uint64_t start, uint64_t *waiting) {
    uint64_t kb = tree_kb();
    if (kb > o->peak_kb) o->peak_kb = kb;
    if (kb > (uint64_t)q->limits.rss_mb * 1024u) {
        o->ending = OUT_OF_MEMORY;
        return 1;
    }
    if (is_late(q, o->pid, start)) {
        o->ending = TIMED_OUT;
        return 1;
    }
    if (is_stuck(o->pid, waiting)) {
        o->ending = STUCK;
        return 1;
    }
    return 0;
}

static size_t heard(const struct outcome *o) {
    return o->stream.n + o->out.n + o->out.dropped + o->err.n + o->err.dropped;
}

/* A child that writes little is left alone till it ends or the time for a look has come: to be woken for each of
 * its words takes a part of most tests' time. Returns what read_ready does. */
static int hear(struct outcome *o, int ends, int *much) {
    const size_t before = heard(o);
    const int till_it_ends = ends >= 0 && !*much;
    if (till_it_ends) poll(&(struct pollfd){.fd = ends, .events = POLLIN}, 1, TICK_MS);
    int open = read_ready(o, ends, till_it_ends ? 0 : TICK_MS);
    *much = heard(o) - before >= MUCH;
    return open;
}

void watch(pid_t pid, const struct request *q, struct outcome *o) {
    uint64_t start = now_us(), next_look = start + TICK_MS * 1000u, waiting = 0;
    int status = 0, ended = 0, much = 0, ends = (int)syscall(SYS_pidfd_open, pid, 0);
    struct rusage used = {0};
    o->pid = pid;
    o->ending = EXITED;
    while (!ended) {
        int open = hear(o, ends, &much), is_over = open < 0;
        if (nobody_reads()) {
            end_group(pid);
            end_tree(q->alone);
            _exit(1);
        }
        if (open < 0) o->ending = FLOODED;
        if (!is_over && now_us() >= next_look) {
            is_over = over_limit(q, o, start, &waiting);
            next_look = now_us() + TICK_MS * 1000u;
        }
        if (is_over) end_group(pid);
        if (open == 0 && ends < 0) poll(NULL, 0, 1);
        ended = wait4(pid, &status, is_over ? 0 : WNOHANG, &used) == pid;
    }
    if (ends >= 0) close(ends);
    o->wall_us = now_us() - start;
    if ((uint64_t)used.ru_maxrss > o->peak_kb) o->peak_kb = (uint64_t)used.ru_maxrss;
    end_group(pid);
    end_tree(q->alone);
    for (uint64_t end = now_us(); now_us() - end < AFTER_END_MS * 1000u;) {
        if (read_ready(o, -1, TICK_MS) <= 0) break;
    }
    if (o->ending == EXITED && WIFSIGNALED(status)) o->ending = SIGNALLED;
    if (o->ending == SIGNALLED && q->steps > 0 && WTERMSIG(status) == SPENT_SIGNAL) o->ending = SPENT;
    o->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}
