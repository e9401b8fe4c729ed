/* What a test wrote of the unit itself, to be compared with what it writes of a mutant. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor.h"

/* The file of one test; it stays, for the test comes again with the next mutant. */
static struct capture *load(const char *folder, const char *name) {
    struct capture *c = calloc(1, sizeof *c);
    char path[4096];
    struct stat file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (c && fd >= 0 && fstat(fd, &file) == 0 && file.st_size > 0) {
        void *at = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (at != MAP_FAILED) c->at = at, c->n = (size_t)file.st_size;
    }
    if (fd >= 0) close(fd);
    return c;
}

int is_baseline(const char *folder, const struct ol_suite *suite, int test, const struct capture *stream) {
    static struct capture **known;
    if (!known) known = calloc((size_t)suite->count(), sizeof *known);
    if (known && !known[test]) known[test] = load(folder, suite->name(test));
    const struct capture *base = known ? known[test] : NULL;
    return base && base->at && base->n == stream->n && memcmp(base->at, stream->at, stream->n) == 0;
}
