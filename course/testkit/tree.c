/* All processes that a child has started, wherever they have gone: what they hold and use, and their end.
 * Nothing here touches the heap: a sanitizer's keeps what is freed, and every later child would pay for it
 * when it is forked. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor.h"

enum { DEEPEST = 64, END_MS = 2000 };

/* The kernel's own record of an entry in a folder. */
struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
};

size_t read_text(const char *path, char *into, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    for (ssize_t k; fd >= 0 && n + 1 < room && (k = read(fd, into + n, room - 1 - n)) > 0;) n += (size_t)k;
    if (fd >= 0) close(fd);
    into[n] = 0;
    return n;
}

void of_threads(pid_t pid, void (*visit)(pid_t, pid_t, void *), void *with) {
    char path[64];
    _Alignas(struct entry) char some[2048];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long n; folder >= 0 && (n = syscall(SYS_getdents64, folder, some, sizeof some)) > 0;)
        for (long at = 0; at < n; at += ((struct entry *)(some + at))->length) {
            int thread = atoi(((struct entry *)(some + at))->name);
            if (thread > 0) visit(pid, thread, with);
        }
    if (folder >= 0) close(folder);
}

static uint64_t resident_kb(pid_t pid) {
    char path[64], text[128];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if (read_text(path, text, sizeof text) == 0 || sscanf(text, "%*u %lu", &pages) != 1) return 0;
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024u;
}

struct visitor {
    uint64_t (*visit)(pid_t child, int depth);
    int depth;
    uint64_t sum;
};

/* A number ends with a space; one that was cut comes again in front of what is read next. */
static void of_child_list(pid_t pid, pid_t thread, void *with) {
    struct visitor *v = with;
    char path[96], text[1024];
    size_t kept = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, text + kept, sizeof text - 1 - kept)) > 0;) {
        text[kept += (size_t)n] = 0;
        char *at = text;
        for (char *end; (end = strchr(at, ' ')); at = end + 1) v->sum += v->visit((pid_t)atoi(at), v->depth);
        kept -= (size_t)(at - text);
        memmove(text, at, kept);
    }
    if (fd >= 0) close(fd);
}

/* Visits the children of every thread of a process; the sum of what `visit` returns. */
static uint64_t of_children(pid_t pid, int depth, uint64_t (*visit)(pid_t, int)) {
    struct visitor v = {visit, depth, 0};
    if (depth < DEEPEST) of_threads(pid, of_child_list, &v);
    return v.sum;
}

static uint64_t held(pid_t pid, int depth) { return resident_kb(pid) + of_children(pid, depth + 1, held); }

static uint64_t counted(pid_t pid, int depth) { return 1 + of_children(pid, depth + 1, counted); }

static uint64_t stopped(pid_t pid, int depth) {
    kill(pid, SIGSTOP);
    return 1 + of_children(pid, depth + 1, stopped);
}

static uint64_t ended(pid_t pid, int depth) {
    uint64_t n = 1 + of_children(pid, depth + 1, ended);
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    return n;
}

static uint64_t used_ms(pid_t pid, int depth) {
    char path[64], line[1024];
    unsigned long user = 0, system = 0, ended_user = 0, ended_system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_text(path, line, sizeof line) == 0) return 0;
    const char *rest = strrchr(line, ')'); /* a process chooses its name */
    if (rest)
        sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user, &system, &ended_user,
               &ended_system);
    uint64_t ticks = user + system + ended_user + ended_system;
    return ticks * 1000u / (uint64_t)sysconf(_SC_CLK_TCK) + of_children(pid, depth + 1, used_ms);
}

uint64_t tree_cpu_ms(void) { return of_children(getpid(), 0, used_ms); }
uint64_t tree_size(void) { return of_children(getpid(), 0, counted); }
uint64_t tree_kb(void) { return of_children(getpid(), 0, held); }

static long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The supervisor is a subreaper, so orphans become its children. Where it is alone with them in a
 * namespace of processes one signal reaches them all; elsewhere they are stopped before they are ended,
 * so that one that forks without end does not outrun this. */
void end_tree(int alone) {
    if (waitpid(-1, NULL, WNOHANG) < 0) return;
    for (long start = now_ms(); now_ms() - start < END_MS;) {
        if (alone)
            kill(-1, SIGKILL);
        else if (of_children(getpid(), 0, stopped) > 0)
            of_children(getpid(), 0, ended);
        while (waitpid(-1, NULL, WNOHANG) > 0) {}
        if (waitpid(-1, NULL, WNOHANG) < 0) return; /* there is no child any more */
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}
