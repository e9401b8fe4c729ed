/* The tests of abi.h: names, the error slot, the allocator hook. */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "ol_test.h"
#include "tinyllm/abi.h"
#include "tinyllm/arena.h"

/* ---- Names ------------------------------------------------------------------------------------------ */

OL_TEST(status_names) {
    static const tl_status status[] = {TL_OK, TL_EINVAL, TL_ENOMEM, TL_ESHAPE, TL_EDTYPE, TL_EFULL, TL_ENOTFOUND,
                                       TL_EFORMAT, TL_EBUSY, TL_EUNSUPPORTED, TL_EIO, -1, 11, INT32_MIN, INT32_MAX};
    OL_UNIT { ol_saw_int("version", tl_abi_version()); }
    OL_ORACLE { ol_want_int("version", 1); }
    for (int k = 0; k < 15; k++) {
        ol_note("tl_status_str(%d)", (int)status[k]);
        OL_UNIT { ol_saw_text("name", tl_status_str(status[k])); }
        OL_ORACLE {
            static const char *const name[] = {"TL_OK", "TL_EINVAL", "TL_ENOMEM", "TL_ESHAPE", "TL_EDTYPE", "TL_EFULL",
                                               "TL_ENOTFOUND", "TL_EFORMAT", "TL_EBUSY", "TL_EUNSUPPORTED", "TL_EIO"};
            ol_want_text("name", k < 11 ? name[k] : "TL_UNKNOWN");
        }
    }
}

/* ---- The error slot --------------------------------------------------------------------------------- */

static void slot_holds(const char *wanted) {
    OL_UNIT { ol_saw_text("slot", tl_last_error()); }
    OL_ORACLE { ol_want_text("slot", wanted); }
}

/* A message of n letters in memory that ends right behind its NUL. */
static char *message_of(int n) {
    char *message = ol_new(n + 1, 1);
    for (int i = 0; i < n; i++) message[i] = (char)('a' + i % 26);
    return message;
}

static void slot_cuts_a_message_of(int n) {
    char *message = message_of(n);
    ol_note("a message of %d bytes", n);
    OL_UNIT {
        tl_set_last_error(message);
        memset(message, '#', (size_t)n); /* the slot has a copy */
        ol_saw_text("slot", tl_last_error());
    }
    OL_ORACLE {
        if (n > TL_LAST_ERROR_CAP - 1) message[TL_LAST_ERROR_CAP - 1] = '\0';
        ol_want_text("slot", message);
    }
}

OL_TEST(error_slot_holds_a_copy) {
    ol_note("before any error");
    slot_holds("");
    for (int n = 1; n <= 1024; n *= 4) slot_cuts_a_message_of(n);
    for (int n = TL_LAST_ERROR_CAP - 2; n <= TL_LAST_ERROR_CAP + 1; n++) slot_cuts_a_message_of(n);

    ol_note("a message that looks like a format");
    OL_UNIT { tl_set_last_error("100%s of %d%n"); }
    slot_holds("100%s of %d%n");

    ol_note("bytes beyond ASCII");
    OL_UNIT { tl_set_last_error("na\xc3\xafve: 3 \xe2\x82\xac"); }
    slot_holds("na\xc3\xafve: 3 \xe2\x82\xac");

    ol_note("the slot's own string, then a part of it");
    OL_UNIT {
        tl_set_last_error("tl_something: with a reason");
        tl_set_last_error(tl_last_error());
    }
    slot_holds("tl_something: with a reason");
    OL_UNIT { tl_set_last_error(tl_last_error() + 3); }
    slot_holds("something: with a reason");

    ol_note("calls that succeed leave the slot alone");
    OL_UNIT {
        tl_free(tl_alloc(8, 8));
        tl_free(NULL);
        tl_set_allocator(&(tl_allocator){ol_hook_alloc, ol_hook_free, NULL});
        tl_free(tl_alloc(8, 8));
        tl_set_allocator(NULL);
        tl_status_str(-1);
    }
    slot_holds("something: with a reason");

    ol_note("NULL empties it");
    OL_UNIT { tl_set_last_error(NULL); }
    slot_holds("");
}

enum { THREADS = 4, ROUNDS = 200 };

typedef struct {
    char mine[8];
    int started_empty, wrong;
} speaker;

/* Says its own name over and over, and hears whether the slot says it too. */
static void *speak(void *arg) {
    speaker *s = arg;
    s->started_empty = tl_last_error()[0] == '\0';
    for (int round = 0; round < ROUNDS; round++) {
        tl_set_last_error(s->mine);
        sched_yield();
        s->wrong += strcmp(tl_last_error(), s->mine) != 0;
    }
    return NULL;
}

OL_TEST(error_slot_is_per_thread) {
    ol_note("%d threads set and read their slots", THREADS);
    OL_UNIT {
        speaker s[THREADS] = {{"one", 0, 0}, {"two", 0, 0}, {"three", 0, 0}, {"four", 0, 0}};
        pthread_t thread[THREADS];
        int64_t wrong[THREADS], empty[THREADS];
        tl_set_last_error("main");
        for (int k = 0; k < THREADS; k++) pthread_create(&thread[k], NULL, speak, &s[k]);
        for (int k = 0; k < THREADS; k++) {
            pthread_join(thread[k], NULL);
            wrong[k] = s[k].wrong;
            empty[k] = s[k].started_empty;
        }
        ol_saw_i64("starts empty", empty, OL_DIMS({"thread", THREADS}));
        ol_saw_i64("messages of others", wrong, OL_DIMS({"thread", THREADS}));
    }
    OL_ORACLE {
        ol_want_i64("starts empty", (int64_t[]){1, 1, 1, 1}, THREADS);
        ol_want_i64("messages of others", (int64_t[]){0, 0, 0, 0}, THREADS);
    }
    slot_holds("main");
}

/* ---- The allocator hook ----------------------------------------------------------------------------- */

/* What the hook was told: one row {call, whose hook, which allocation, enough bytes and alignment}. */
enum { ALLOC = 1, FREE = 2, MOST_EVENTS = 32 };
static int64_t events[MOST_EVENTS][4];
static int64_t n_events, n_given;
static char users[2];
static size_t asked_n, asked_align;
static void *given[MOST_EVENTS];

static void log_event(int64_t what, void *user, int64_t which, int64_t enough) {
    int64_t whose = user == &users[0] ? 0 : user == &users[1] ? 1 : -1;
    if (n_events < MOST_EVENTS) memcpy(events[n_events++], (int64_t[]){what, whose, which, enough}, sizeof events[0]);
}

static void *log_alloc(void *user, size_t n, size_t align) {
    void *p = ol_hook_alloc(NULL, n, align);
    int enough = n >= asked_n && asked_align > 0 && align % asked_align == 0;
    log_event(ALLOC, user, n_given, enough);
    if (n_given < MOST_EVENTS) given[n_given++] = p;
    return p;
}

static void log_free(void *user, void *p) {
    int64_t which = -1;
    for (int64_t k = 0; k < n_given; k++)
        if (p && given[k] == p) which = k;
    log_event(FREE, user, which, 1);
    ol_hook_free(NULL, p);
}

static void *ask(size_t n, size_t align) {
    asked_n = n;
    asked_align = align;
    return tl_alloc(n, align);
}

static void two_hooks(void) {
    tl_allocator hook = {log_alloc, log_free, &users[0]};
    ol_saw_status("first hook", tl_set_allocator(&hook));
    memset(&hook, 0, sizeof hook); /* the library has a copy */
    tl_free(ask(100, 64));
    tl_free(NULL);

    hook = (tl_allocator){log_alloc, log_free, &users[1]};
    ol_saw_status("second hook", tl_set_allocator(&hook));
    void *small = ask(7, 1);

    tl_set_last_error(NULL);
    ol_saw_status("without alloc", tl_set_allocator(&(tl_allocator){NULL, log_free, &users[0]}));
    ol_saw_text("slot", tl_last_error());
    tl_set_last_error(NULL);
    ol_saw_status("without free", tl_set_allocator(&(tl_allocator){log_alloc, NULL, &users[0]}));
    ol_saw_text("slot", tl_last_error());
    void *wide = ask(3, 4096);
    tl_free(small);
    tl_free(wide);

    ol_saw_status("malloc again", tl_set_allocator(NULL));
    tl_free(tl_alloc(9, 8));
    ol_saw_i64("what the hook was told", events[0], OL_DIMS({"event", n_events}, {"field", 4}));
}

OL_TEST(allocator_hook_is_copied_and_followed) {
    ol_note("two hooks in turn, two that lack a function, then none");
    OL_UNIT { two_hooks(); }
    OL_ORACLE {
        static const int64_t told[] = {ALLOC, 0, 0, 1, FREE, 0, 0, 1, ALLOC, 1, 1, 1,
                                       ALLOC, 1, 2, 1, FREE, 1, 1, 1, FREE, 1, 2, 1};
        ol_want_status("first hook", TL_OK);
        ol_want_status("second hook", TL_OK);
        ol_want_status("without alloc", TL_EINVAL);
        ol_want_text_with("slot", "tl_set_allocator");
        ol_want_status("without free", TL_EINVAL);
        ol_want_text_with("slot", "tl_set_allocator");
        ol_want_status("malloc again", TL_OK);
        ol_want_i64("what the hook was told", told, 24);
    }
}

/* ---- tl_alloc --------------------------------------------------------------------------------------- */

static void alloc_aligned_to(size_t align) {
    const size_t size[] = {1, 3, align - 1, align, align + 1, 1000};
    int64_t remainder[6];
    for (int k = 0; k < 6; k++) {
        size_t n = size[k] ? size[k] : 1;
        unsigned char *p = tl_alloc(n, align);
        remainder[k] = p ? (int64_t)((uintptr_t)p % align) : -1;
        if (p) memset(p, 0xA5, n);
        tl_free(p);
    }
    ol_saw_i64("address mod align", remainder, OL_DIMS({"size", 6}));
}

static void alloc_refuses(size_t n, size_t align) {
    ol_note("tl_alloc(%zu, %zu)", n, align);
    OL_UNIT {
        tl_set_last_error(NULL);
        void *p = tl_alloc(n, align);
        ol_saw_int("pointer is NULL", p == NULL);
        ol_saw_text("slot", tl_last_error());
        tl_free(p);
    }
    OL_ORACLE {
        ol_want_int("pointer is NULL", 1);
        ol_want_text_with("slot", "tl_alloc");
    }
}

OL_TEST(alloc_aligns_and_refuses) {
    for (size_t align = 1; align <= 65536; align *= 2) {
        ol_note("align %zu", align);
        OL_UNIT { alloc_aligned_to(align); }
        OL_ORACLE { ol_want_i64("address mod align", (int64_t[6]){0}, 6); }
    }
    OL_UNIT { tl_set_allocator(&(tl_allocator){ol_hook_alloc, ol_hook_free, NULL}); }
    static const size_t no_power[] = {0, 3, 6, 12, 24, 96, 4095, 4097, SIZE_MAX};
    for (int k = 0; k < 9; k++) alloc_refuses(16, no_power[k]);
    alloc_refuses(0, 64);
    OL_UNIT { ol_saw_int("calls of the hook", ol_hook_allocs()); }
    OL_ORACLE { ol_want_int("calls of the hook", 0); }

    ol_note("a hook that has nothing");
    OL_UNIT { ol_hook_fail_at(1); }
    alloc_refuses(16, 16);
}
