//// attributes
__attribute__((noinline, pure)) static int g(int a __attribute__((unused))) { return a + 1; }
int f(int a) { int b __attribute__((aligned(8))) = a + 1; switch (b) { case 1: b++; __attribute__((fallthrough)); default: b -= g(a); } goto x; x: __attribute__((unused)); return b; }
//// attributes of C23
[[nodiscard]] int f([[maybe_unused]] int a) { [[maybe_unused]] int b = a + 1; switch (a) { case 1: b++; [[fallthrough]]; case 2: b--; } return b; }
//// typeof
int f(int a) { typeof(a) b = a + 1; __typeof__(b) *p = &b; __auto_type c = b; return *p + c; }
//// builtins
int f(unsigned a) { return __builtin_expect(a > 3, 0) ? __builtin_clz(a | 1) : 2; }
//// designators
struct s { int a, b[9]; };
int f(int a) { struct s x = {.a = a + 1, .b[1] = 2, .b = {[0 ... 7] = a}}; struct s y = (struct s){.b = {[1] = a}}; return x.a + y.b[a]; }
//// extension
int f(int a) { __extension__ long long b = a; return (int)(__extension__(b + 1)); }
//// assembler
int f(int a) { __asm__ volatile("nop" ::: "memory"); __asm__("" : "+r"(a)); __asm__ goto("" :::: out); a++; out: return a + 1; }
//// names for the linker
int h(int) __asm__("other");
int f(int a) { return h(a + 1); }
//// old definitions
int f(a, b, s) int a; register unsigned b; char *s; { return a + b + s[0]; }
//// implicit int
f(a) { return a + 1; }
//// labels as values
int f(int a) { void *t[] = {&&x, &&y}; goto *t[a]; x: return 1; y: return a + 2; }
//// ranges of cases
int f(int a) { switch (a) { case 1 ... 5: return 1; case 'a'...'z': return a; } return 3; }
//// binary numbers
int f(int a) { return a & 0b1010; }
//// empty braces
int f(int a) { int v[3] = {}; return v[a] + 1; }
//// wide integers
int f(int a) { unsigned __int128 b = a; return (int)(b + 1); }
//// complex numbers
int f(int a) { float _Complex z = a; return (int)__real__ z + (int)__imag__ z + 1; }
//// no middle operand
int f(int a, int b) { return a ?: b + 1; }
//// variable arguments
#include <stdarg.h>
int f(int n, ...) { va_list ap; va_start(ap, n); int s = va_arg(ap, int); va_end(ap); return s + n; }
//// offsetof
#include <stddef.h>
struct s { int a, b; };
int f(int a) { return a + (int)offsetof(struct s, b); }
//// pragmas
int f(int a) {
#pragma GCC ivdep
for (int i = 0; i < a; i++) a--;
_Pragma("GCC ivdep") while (a > 3) a--; return a; }
//// threads
static __thread int t; _Thread_local int u; int f(int a) { return t + u + a; }
//// vectors
typedef float v4 __attribute__((vector_size(16)));
v4 f(v4 a, v4 b) { return a * b + a[0]; }
//// alignment
int f(int a) { _Alignas(16) int v[4] = {a}; return v[0] + (int)_Alignof(int) + a; }
//// static assertions
int f(int a) { _Static_assert(sizeof a == 4, "x"); return a + 1; }
//// atomics
int f(_Atomic int *p, _Atomic(int) q) { return *p + q; }
//// other letters
typedef int ç;
ç f(ç é) { int \u00fc = é + 1; return \u00fc * 2; }
//// digraphs
int f(int a) <% int v<:3:> = <% 1, 2, 3 %>; return v<:a:>; %>
//// strings of macros
#define S(x) #x
const char *f(int a) { return a > 1 ? S(a + b) : "x" S(c) "y"; }
//// specifiers of macros
#define API(t) __attribute__((visibility("default"))) t
#define COLD(w) __attribute__((w))
#define OLD(m) __attribute__((deprecated(m)))
API(int) f(int a) { return a + 1; }
OLD("no") int g(int a) { return a - 1; }
COLD(cold) int h(int a) { return a - 1; }
//// local labels
int f(int a) { __label__ x; if (a) goto x; a++; x: return a; }
//// static assertions of macros
#define HOLDS(c) { enum { holds = 1 / (int)(!!(c)) }; }
#define SIZED(c) ((void)sizeof(char[1 - 2 * !(c)]))
int f(int a) { HOLDS(sizeof a > 2); SIZED(sizeof a == 4); return a + 1; }
//// operands that a macro goes on from
#define KB *1024
#define LIMIT 3
int f(int a) { return a > 64 KB ? LIMIT KB : a; }
