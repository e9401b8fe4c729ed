/* What the loader would do on the heap at first use, a function's or a thread-local variable's, is done here
 * before the test begins: all that the test leaves there is its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>

#include "supervisor.h"

#if __ELF_NATIVE_CLASS == 64
enum { IS_RELA = DT_RELA };
typedef ElfW(Rela) relocation;
#define SYMBOL(info) ELF64_R_SYM(info)
#else
enum { IS_RELA = DT_REL };
typedef ElfW(Rel) relocation;
#define SYMBOL(info) ELF32_R_SYM(info)
#endif

static uintptr_t entry(const struct link_map *map, ElfW(Sxword) tag) {
    for (const ElfW(Dyn) *at = map->l_ld; at->d_tag != DT_NULL; at++)
        if (at->d_tag == tag) return (uintptr_t)at->d_un.d_ptr;
    return 0;
}

/* Most loaders have added the object's place to the addresses in its table. */
static void *table(const struct link_map *map, ElfW(Sxword) tag) {
    uintptr_t at = entry(map, tag);
    return (void *)(at && at < map->l_addr ? at + map->l_addr : at);
}

static void bind_functions(const struct ol_suite *suite) {
    struct link_map *map = NULL;
    Dl_info file;
    if (!dladdr1(suite, &file, (void **)&map, RTLD_DL_LINKMAP) || entry(map, DT_PLTREL) != IS_RELA) return;
    const relocation *slot = table(map, DT_JMPREL);
    const ElfW(Sym) *symbols = table(map, DT_SYMTAB);
    const char *names = table(map, DT_STRTAB);
    for (size_t n = entry(map, DT_PLTRELSZ) / sizeof *slot; slot && n > 0; n--, slot++) {
        void *function = dlsym(RTLD_DEFAULT, names + symbols[SYMBOL(slot->r_info)].st_name);
        if (function) *(void **)(map->l_addr + slot->r_offset) = function;
    }
}

struct tls_index {
    unsigned long module, offset;
};
extern void *__tls_get_addr(struct tls_index *);

static int take_thread_locals(struct dl_phdr_info *object, size_t size, void *unused) {
    (void)size, (void)unused;
    if (object->dlpi_tls_modid) __tls_get_addr(&(struct tls_index){object->dlpi_tls_modid, 0});
    return 0;
}

void bind_all(const struct ol_suite *suite) {
    bind_functions(suite);
    dl_iterate_phdr(take_thread_locals, NULL);
}

enum { WARM_THREADS = 4 };

static void *pass(void *gate) {
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* The C library keeps the place of a thread that has ended, with what the thread had there on the heap, for the
 * next one. A test's first threads are to find such places, with nothing in them. There are fewer where no more
 * can be made; all are there at once, for none passes the gate before. */
void warm_threads(void) {
    pthread_t thread[WARM_THREADS];
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int n = 0;
    pthread_mutex_lock(&gate);
    while (n < WARM_THREADS && pthread_create(&thread[n], NULL, pass, &gate) == 0) n++;
    pthread_mutex_unlock(&gate);
    while (n > 0) pthread_join(thread[--n], NULL);
}
