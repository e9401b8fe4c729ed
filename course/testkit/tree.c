/* All processes that a child has started, wherever they have gone: what they hold and use, and their end. */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "supervisor.h"

enum { DEEPEST = 64, END_MS = 2000 };

static uint64_t resident_kb(pid_t pid) {
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%*u %lu", &pages) != 1) pages = 0;
    fclose(f);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024u;
}

/* Visits the children of every thread of a process; `seen` sums what `visit` returns. */
static uint64_t of_children(pid_t pid, int depth, uint64_t (*visit)(pid_t, int)) {
    char path[96];
    uint64_t sum = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = depth < DEEPEST ? opendir(path) : NULL;
    if (!d) return 0;
    for (struct dirent *e; (e = readdir(d));) {
        int thread = atoi(e->d_name), child;
        if (thread <= 0) continue;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, thread);
        FILE *f = fopen(path, "r");
        if (!f) continue;
        while (fscanf(f, "%d", &child) == 1) sum += visit(child, depth);
        fclose(f);
    }
    closedir(d);
    return sum;
}

static uint64_t held(pid_t pid, int depth) { return resident_kb(pid) + of_children(pid, depth + 1, held); }

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
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    size_t n = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    line[n] = 0;
    const char *rest = strrchr(line, ')'); /* a process chooses its name */
    if (rest)
        sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user, &system, &ended_user,
               &ended_system);
    uint64_t ticks = user + system + ended_user + ended_system;
    return ticks * 1000u / (uint64_t)sysconf(_SC_CLK_TCK) + of_children(pid, depth + 1, used_ms);
}

uint64_t tree_cpu_ms(void) { return of_children(getpid(), 0, used_ms); }
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
