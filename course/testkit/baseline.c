/* What a test wrote of the unit itself, to be compared with what it writes of a mutant. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor.h"

/* The file of one test; its bytes are kept, for the test comes again with the next mutant. */
static struct capture *load(const char *folder, const char *name) {
    struct capture *c = calloc(1, sizeof *c);
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f || !c) return c;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    if (n >= 0 && (c->at = malloc((size_t)n + 1)) && fread(c->at, 1, (size_t)n, f) == (size_t)n) c->n = (size_t)n;
    fclose(f);
    return c;
}

int is_baseline(const char *folder, const struct ol_suite *suite, int test, const struct capture *stream) {
    static struct capture **known;
    if (!known) known = calloc((size_t)suite->count(), sizeof *known);
    if (known && !known[test]) known[test] = load(folder, suite->name(test));
    const struct capture *base = known ? known[test] : NULL;
    return base && base->at && base->n == stream->n && memcmp(base->at, stream->at, stream->n) == 0;
}
