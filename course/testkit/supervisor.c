/* The supervisor: holds a suite and no student code. It reads requests from its input, forks a child
 * for each, and writes what came of it to its output. `ol` starts it; so can a person:
 *
 *     supervisor --list SUITE
 *     supervisor [--warm] [--brief] [--alone] [--baseline FOLDER [--stop]] SUITE LOG_PREFIX [FIXTURES] < requests > results
 *
 * With --warm the objects are opened in the supervisor, once, and every child starts with them loaded: for
 * the course's own code and its mutants, never for a student's.
 * With --brief of a report of AddressSanitizer there is only the first line.
 * With --alone it ends all processes that it can see after each test: in a namespace of processes only.
 * With --baseline a run that went as FOLDER says is told in a word; with --stop a mutant that did anything
 * else meets no more of the tests that follow for it.
 * A request is one line:  NUMBER WALL_MS RSS_MB SEED MUTANT TEST OBJECT...
 * An empty line begins a new call: what came of the requests before does not count for those that follow.
 * MUTANT may be followed by a colon and the number of steps that the mutant may take.
 * A negative WALL_MS is the same limit, but not run once a test of this supervisor has timed out.
 * Objects are paths relative to the working directory, without white space. A result is a frame, little
 * endian: u32 length of the rest, u32 number, u8 ending, i32 code, u64 wall in us, u64 peak in KiB, then
 * four byte strings, each u32 length and bytes: stream, stdout, stderr, sanitizer reports; then u64 bytes
 * dropped from stdout and stderr. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "supervisor.h"

enum { STREAM_CAP = 64 << 20, OUTPUT_CAP = 32 << 10, REPORT_CAP = 256 << 10, LINE_CAP = 16 << 10 };

static _Noreturn void fault(const char *what, const char *why) {
    fprintf(stderr, "supervisor: %s: %s\n", what, why);
    exit(70);
}

static void send(const void *bytes, size_t n) {
    if (n && fwrite(bytes, 1, n, stdout) != n) fault("cannot write a result", strerror(errno));
}

static void send_string(const void *bytes, size_t n) {
    send(&(uint32_t){(uint32_t)n}, 4);
    send(bytes, n);
}

/* The sanitizers write to PREFIX.<tool>.<pid>; what is there counts whatever the exit status says. */
static size_t take_reports(const char *prefix, pid_t pid, unsigned char *into) {
    static const char *const tool[] = {"asan", "ubsan", "tsan"};
    size_t n = 0;
    for (int k = 0; k < 3; k++) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%s.%d", prefix, tool[k], (int)pid);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) continue;
        for (ssize_t got; n < REPORT_CAP && (got = read(fd, into + n, REPORT_CAP - n)) > 0;) n += (size_t)got;
        close(fd);
        unlink(path);
    }
    return n;
}

static unsigned char report[REPORT_CAP];

static void send_outcome(const struct request *q, const struct outcome *o, size_t n_report) {
    const struct capture *blob[] = {&o->stream, &o->out, &o->err};
    uint32_t length = 4 + 1 + 4 + 8 + 8 + 4 * 4 + 8;
    length += (uint32_t)(o->stream.n + o->out.n + o->err.n + n_report);
    send(&length, 4);
    send(&q->number, 4);
    send(&(uint8_t){(uint8_t)o->ending}, 1);
    send(&(int32_t){o->code}, 4);
    send(&o->wall_us, 8);
    send(&o->peak_kb, 8);
    for (int k = 0; k < 3; k++) send_string(blob[k]->at, blob[k]->n);
    send_string(report, n_report);
    send(&(uint64_t){o->out.dropped + o->err.dropped}, 8);
    if (fflush(stdout) != 0) fault("cannot write a result", strerror(errno));
}

static void make_pipe(int end[2]) {
    if (pipe2(end, O_CLOEXEC) != 0) fault("cannot make a pipe", strerror(errno));
    fcntl(end[0], F_SETFL, O_NONBLOCK);
}

static void run(const struct ol_suite *suite, const struct request *q, struct outcome *o) {
    int stream[2], out[2], err[2];
    make_pipe(stream);
    make_pipe(out);
    make_pipe(err);
    pid_t supervisor = getpid(), pid = fork();
    if (pid < 0) fault("cannot fork", strerror(errno));
    if (pid == 0) {
        int null = open("/dev/null", O_RDONLY);
        dup2(null, 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        for (int fd = 3; fd < 64; fd++)
            if (fd != stream[1]) close(fd);
        child_main(suite, q, stream[1], supervisor);
    }
    close(stream[1]);
    close(out[1]);
    close(err[1]);
    o->stream = (struct capture){.fd = stream[0], .cap = STREAM_CAP, .whole = 1};
    o->out = (struct capture){.fd = out[0], .cap = OUTPUT_CAP};
    o->err = (struct capture){.fd = err[0], .cap = OUTPUT_CAP};
    watch(pid, q, o);
}

static int find(const struct ol_suite *suite, const char *name) {
    for (int k = 0; k < suite->count(); k++)
        if (strcmp(suite->name(k), name) == 0) return k;
    return -1;
}

static struct request parse(char *line, const struct ol_suite *suite, const char *fixtures) {
    struct request q = {.fixtures = fixtures, .limits.file_mb = 64};
    char *field[6], *rest = line;
    for (int k = 0; k < 6; k++)
        if (!(field[k] = strsep(&rest, " \n"))) fault("a request is cut short", line);
    q.number = (uint32_t)strtoul(field[0], NULL, 10);
    long wall_ms = strtol(field[1], NULL, 10);
    q.unless_late = wall_ms < 0;
    q.limits.wall_ms = labs(wall_ms);
    q.limits.rss_mb = strtol(field[2], NULL, 10);
    q.seed = strtoull(field[3], NULL, 10);
    char *steps;
    q.mutant = (int)strtol(field[4], &steps, 10);
    if (*steps == ':') q.steps = strtoll(steps + 1, NULL, 10);
    q.test = find(suite, field[5]);
    for (char *object; (object = strsep(&rest, " \n"));)
        if (*object) {
            if (q.n_objects == MAX_OBJECTS) fault("too many objects in a request", field[5]);
            q.object[q.n_objects++] = object;
        }
    return q;
}

/* gcc keeps UBSan in a library of its own, whose report path no option reaches beside ASan: its own
 * set_report_path is hidden by ASan's. */
static void send_ubsan_to(const char *prefix) {
    char path[4096];
    void *ubsan = dlopen("libubsan.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void (*set)(const char *) = NULL;
    if (ubsan) *(void **)&set = dlsym(ubsan, "__sanitizer_set_report_path");
    snprintf(path, sizeof path, "%s.ubsan", prefix);
    if (set) set(path);
}

static const struct ol_suite *open_suite(const char *path) {
    /* Lazy: the unit's functions are bound in a child, after the unit was opened there. Global and
     * first: a function that a test defines itself stands before the unit's and its dependencies'. */
    void *so = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
    if (!so) fault("cannot open the suite", dlerror());
    const struct ol_suite *suite = dlsym(so, OL_SUITE_SYMBOL);
    if (!suite) fault("not a suite", path);
    return suite;
}

/* Each size of block that is taken from a sanitizer's heap costs every child a part of its page tables. */
static void use_no_heap(void) {
    static char in[4096], out[1 << 16];
    setvbuf(stdin, in, _IOFBF, sizeof in);
    setvbuf(stdout, out, _IOFBF, sizeof out);
}

struct manner {
    int warm, brief, alone, stops;
    const char *baseline, *log_prefix;
};

static struct manner read_manner(int *argc, char ***argv) {
    struct manner m = {0};
    for (; *argc > 1 && strncmp((*argv)[1], "--", 2) == 0; --*argc, ++*argv) {
        const char *word = (*argv)[1];
        m.warm |= strcmp(word, "--warm") == 0;
        m.brief |= strcmp(word, "--brief") == 0;
        m.alone |= strcmp(word, "--alone") == 0;
        m.stops |= strcmp(word, "--stop") == 0;
        if (strcmp(word, "--baseline") == 0 && *argc > 2) m.baseline = (*argv)[2], --*argc, ++*argv;
    }
    if (*argc < 3) fault("usage", "supervisor --list SUITE | supervisor [--warm] [--brief] [--alone] [--baseline FOLDER [--stop]] SUITE LOG_PREFIX [FIXTURES]");
    m.log_prefix = (*argv)[2];
    return m;
}

/* Present in a build with a sanitizer that reports addresses. */
extern int __sanitizer_get_module_and_offset_for_pc(void *pc, char *path, size_t room, void **offset) __attribute__((weak));

/* The names of a request's objects, which one line has held. */
static void join_objects(const struct request *q, char into[LINE_CAP]) {
    char *at = into;
    for (int k = 0; k < q->n_objects; k++) at = stpcpy(stpcpy(at, q->object[k]), " ");
}

/* What every child would do at first, once for all of them: opens the units, and has the sanitizer learn
 * what is loaded where, which a report needs. */
static void warm_up(const struct ol_suite *suite, struct request *q) {
    static char open[LINE_CAP], asked[LINE_CAP];
    q->warm = 1;
    join_objects(q, asked);
    if (strcmp(asked, open) == 0) return;
    const char *why = open_units(q);
    if (why) fault("cannot open a unit", why);
    bind_all(suite);
    memcpy(open, asked, sizeof open);
    char path[4096];
    void *offset;
    if (__sanitizer_get_module_and_offset_for_pc)
        __sanitizer_get_module_and_offset_for_pc((void *)(uintptr_t)warm_up, path, sizeof path, &offset);
}

static void answer_all(const struct ol_suite *suite, const struct manner *m, const char *fixtures) {
    static char line[LINE_CAP];
    int late = 0, stopped = 0;
    while (fgets(line, sizeof line, stdin)) {
        if (!strchr(line, '\n')) fault("a request is too long", line);
        if (line[0] == '\n') {
            late = stopped = 0;
            continue;
        }
        struct request q = parse(line, suite, fixtures);
        q.alone = m->alone;
        q.brief_log = m->brief ? m->log_prefix : NULL;
        if (m->warm) warm_up(suite, &q);
        struct outcome o = {.ending = NO_SUCH_TEST, .stream.fd = -1, .out.fd = -1, .err.fd = -1};
        size_t n_report = 0;
        if (q.test >= 0 && ((late && q.unless_late) || (q.mutant && q.mutant == stopped))) {
            o.ending = NOT_RUN;
        } else if (q.test >= 0) {
            run(suite, &q, &o);
            n_report = take_reports(m->log_prefix, o.pid, report);
        }
        int fine = m->baseline && o.ending == EXITED && o.code == 0 && n_report == 0;
        if (fine && is_baseline(m->baseline, suite, q.test, &o.stream)) o.ending = SAME, o.stream.n = 0;
        if (m->stops && o.ending != SAME) stopped = q.mutant;
        late |= o.ending == TIMED_OUT;
        send_outcome(&q, &o, n_report);
        capture_free(&o.stream);
        capture_free(&o.out);
        capture_free(&o.err);
    }
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--list") == 0) {
        const struct ol_suite *suite = open_suite(argv[2]);
        for (int k = 0; k < suite->count(); k++) puts(suite->name(k));
        return 0;
    }
    const struct manner m = read_manner(&argc, &argv);
    if (m.alone && getpid() > 64) fault("--alone", "this is no namespace of its own");
    const struct ol_suite *suite = open_suite(argv[1]);
    send_ubsan_to(m.log_prefix);
    use_no_heap();
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0); /* no child may reach into this process */
    prctl(PR_SET_PDEATHSIG, SIGCONT); /* a unit may have stopped this process: see watch.c */
    tidy_before();
    answer_all(suite, &m, argc > 3 ? argv[3] : NULL);
    return 0;
}
