/* Strings and lists: a small tokenizer, an intrusive list, callbacks, recursion, a variadic function. */
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 16
#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))
#define LIST_EACH(it, head) for (struct node *it = (head)->next; it != (head); it = it->next)
#define CHECK(x) do { if (!(x)) return -1; } while (0)
#define PREFIX "strings: "

struct node {
    struct node *prev, *next;
};

typedef struct word {
    const char *start;
    size_t length;
    struct node link;
} word;

typedef int (*visitor)(const word *w, void *state);

static const char *const separators[] = {" ", "\t", ",", ";"};

size_t count_char(const char *s, char wanted) {
    size_t n = 0;
    for (; *s != '\0'; s++)
        if (*s == wanted) n++;
    return n;
}

char *trim(char *s) {
    while (isspace((unsigned char)*s)) ++s;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1])) *--end = '\0';
    return s;
}

static int is_separator(char c) {
    for (size_t i = 0; i < LEN(separators); i++) {
        if (separators[i][0] == c) return 1;
    }
    return 0;
}

int split(const char *text, word *out, int capacity) {
    int n = 0;
    CHECK(text != NULL && out != NULL);
    while (*text) {
        while (*text && is_separator(*text)) text++;
        if (!*text) break;
        const char *start = text;
        do text++;
        while (*text && !is_separator(*text));
        if (n >= capacity) continue;
        out[n++] = (word){.start = start, .length = (size_t)(text - start)};
    }
    return n;
}

void push(struct node *head, struct node *one) {
    one->prev = head->prev, one->next = head;
    head->prev->next = one;
    head->prev = one;
}

int visit(struct node *head, visitor each, void *state) {
    int seen = 0;
    LIST_EACH(it, head) {
        word *w = container_of(it, word, link);
        if (each(w, state) != 0) return seen;
        seen += 1;
    }
    return seen;
}

static int longest(const word *w, void *state) {
    size_t *best = state;
    *best = LARGER(*best, w->length);
    return 0;
}

size_t longest_of(struct node *head) {
    size_t best = 0;
    visit(head, longest, &best);
    return best;
}

int compare(const void *a, const void *b) {
    const word *x = a, *y = b;
    const size_t n = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->start, y->start, n);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

long sum(int count, ...) {
    va_list values;
    va_start(values, count);
    long total = 0;
    while (count-- > 0) total += va_arg(values, int);
    va_end(values);
    return total;
}

int depth_of(const char *s) {
    if (*s == '\0') return 0;
    return (*s == '(') - (*s == ')') + depth_of(s + 1);
}

int describe(char *out, size_t size, const word *w) {
    return snprintf(out, size, PREFIX "%.*s" " (%zu)\n", (int)w->length, w->start, w->length);
}

int parse_number(const char *s, int *value) {
    int sign = 1, result = 0;
    switch (*s) {
    case '-': sign = -1; /* fall through */
    case '+': s++; break;
    default: break;
    }
    if (!isdigit((unsigned char)*s)) goto bad;
    for (; isdigit((unsigned char)*s); s++) result = result * 10 + (*s - '0');
    *value = sign * result;
    return *s == 0 ? 0 : 1;
bad:
    *value = 0;
    return -1;
}
