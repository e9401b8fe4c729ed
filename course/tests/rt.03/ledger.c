#include "ledger.h"

#include <dirent.h>
#include <pthread.h>
#include <time.h>

ledger *new_ledger(int64_t n, int64_t grain, int n_threads) {
    ledger *l = ol_new(1, sizeof *l);
    l->n = n;
    l->grain = grain;
    l->n_ranges = n / grain + (n % grain != 0);
    l->n_threads = n_threads;
    l->calls = ol_new(l->n_ranges, sizeof *l->calls);
    l->ends = ol_new(l->n_ranges, sizeof *l->ends);
    return l;
}

void sign(void *ledger_, int64_t lo, int64_t hi, int worker) {
    ledger *l = ledger_;
    if (worker < 0 || worker >= l->n_threads) l->misnumbered++;
    if (lo < 0 || lo >= l->n || lo % l->grain != 0) {
        l->strays++;
        return;
    }
    int64_t k = lo / l->grain;
    if (l->calls[k]++ == 0) {
        l->ends[k][0] = lo;
        l->ends[k][1] = hi;
    }
    rest(l->rest_us);
}

static void saw_ledger(const ledger *l) {
    int64_t(*row)[RANGE_FIELDS] = ol_new(l->n_ranges, sizeof *row);
    for (int64_t k = 0; k < l->n_ranges; k++) {
        row[k][0] = l->calls[k];
        row[k][1] = l->ends[k][0];
        row[k][2] = l->ends[k][1];
    }
    ol_saw_i64("ranges", row[0], OL_DIMS({"range", l->n_ranges}, {"calls, lo, hi", RANGE_FIELDS}));
    ol_saw_int("calls of no range", l->strays);
    ol_saw_int("workers out of range", l->misnumbered);
}

static void want_ledger(int64_t n, int64_t grain) {
    int64_t n_ranges = n / grain + (n % grain != 0);
    int64_t(*row)[RANGE_FIELDS] = ol_new(n_ranges, sizeof *row);
    for (int64_t k = 0; k < n_ranges; k++) {
        row[k][0] = 1;
        row[k][1] = k * grain;
        row[k][2] = k + 1 == n_ranges ? n : (k + 1) * grain;
    }
    ol_want_i64("ranges", row[0], n_ranges * RANGE_FIELDS);
    ol_want_int("calls of no range", 0);
    ol_want_int("workers out of range", 0);
}

void loop_is_complete(tl_pool *pool, int n_threads, int64_t n, int64_t grain) {
    ol_note("n=%lld, grain=%lld on %d threads", (long long)n, (long long)grain, n_threads);
    OL_UNIT {
        ledger *l = new_ledger(n, grain, n_threads);
        ol_saw_status("status", tl_parallel_for(pool, n, grain, sign, l));
        saw_ledger(l);
    }
    OL_ORACLE {
        ol_want_status("status", TL_OK);
        want_ledger(n, grain);
    }
}

void rest(int64_t us) {
    if (us > 0) nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static int64_t count_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    int64_t n = 0;
    if (!tasks) return -1;
    for (struct dirent *one; (one = readdir(tasks));) n += one->d_name[0] != '.';
    closedir(tasks);
    return n;
}

static void *nothing(void *arg) { return arg; }

void settle_threads(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
    rest(20000);
}

int64_t threads_now(int64_t expected) {
    int64_t n = count_threads();
    for (int waited_ms = 0; expected > 0 && n != expected && waited_ms < 1000; waited_ms++) {
        rest(1000);
        n = count_threads();
    }
    return n;
}
