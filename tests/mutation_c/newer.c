//// inferred types
int f(int a) { auto b = a + 1; return b; }
//// constexpr
int f(int a) { constexpr int k = 3 + 1; return a + k; }
//// parted digits
int f(int a) { return a + 1'000'000; }
//// bit-precise
int f(int a) { _BitInt(7) b = a; return b + 1; }
//// nullptr
int *f(int *a) { int *p = nullptr; return a ? p : nullptr; }
//// static assertion without a text
int f(int a) { static_assert(sizeof a == 4); return a + 1; }
//// types of headers
PyObject *f(PyObject *self, Py_ssize_t n) { Other *o = (Other *)self; return n ? (T)o : 0; }
//// words of headers
EXPORT_API int UNITY f(int a) NOTHROW { return a + 1; }
//// qualifiers of headers
int f(const char *RESTRICT s, U32 const n) { char *RESTRICT const t = s; static const MODEL("small") char v[] = {1}; return s[n] + t[0] + v[0]; }
//// statements of headers
int f(int a) {
    UINT k = a;
    Py_BEGIN_ALLOW_THREADS
    a = a + 1;
    Py_END_ALLOW_THREADS
    enum {
        AAA,
        BBB
    };
    return k + BBB;
    UNREACHED
}
