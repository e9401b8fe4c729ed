/* What the loader would do on the heap at first use, a function's or a thread-local variable's, is done here
 * before the test begins: all that the test leaves there is its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
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
