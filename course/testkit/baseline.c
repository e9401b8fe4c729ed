/* What a test wrote of the unit itself, to be compared with what it writes of a mutant. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor.h"

/* The file of one test, if it is there already; it stays, for the test comes again with the next mutant. */
static void load(const char *folder, const char *name, struct capture *into) {
    char path[4096];
    struct stat file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &file) == 0 && file.st_size > 0) {
        void *at = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) into->at = at, into->n = (size_t)file.st_size;
    }
    if (fd >= 0) close(fd);
}

/* Not from the heap: see tree.c. */
static struct capture *new_captures(size_t n) {
    void *at = mmap(NULL, n * sizeof(struct capture), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

int is_baseline(const char *folder, const struct ol_suite *suite, int test, const struct capture *stream) {
    static struct capture *known;
    if (!known) known = new_captures((size_t)suite->count());
    if (!known) return 0;
    struct capture *base = &known[test];
    if (!base->at) load(folder, suite->name(test), base);
    return base->at && base->n == stream->n && memcmp(base->at, stream->at, stream->n) == 0;
}
