/* Runs one test in this very process, for a debugger: no child, no limits, no judge. What the test
 * sees goes nowhere; look at it with the debugger or print it.
 *
 *     program TEST [SEED] */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ol_suite.h"

extern const struct ol_suite ol_suite_v1;

int main(int argc, char **argv) {
    for (int k = 0; argc > 1 && k < ol_suite_v1.count(); k++) {
        if (strcmp(ol_suite_v1.name(k), argv[1]) != 0) continue;
        struct ol_context context = {
            .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
            .stream = open("/dev/null", O_WRONLY),
        };
        ol_suite_v1.run(k, &context);
        printf("%s came to its end; `ol check` says whether what it saw is right\n", argv[1]);
        return 0;
    }
    fprintf(stderr, "usage: %s TEST [SEED]\n", argv[0]);
    return 2;
}
