"""The names that the policy on Python sources knows, and what to write instead. Tables only."""

from collections.abc import Collection


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULES = _words(
    "__future__ abc bisect collections collections.abc contextlib copy dataclasses enum "
    "fractions functools heapq itertools math numbers numpy numpy.lib.stride_tricks "
    "numpy.typing operator struct types typing"
)
"""What every unit may import."""

_SYSTEM = _words("os sys subprocess shutil signal socket threading multiprocessing asyncio posix")
_INSIDE = _words("importlib builtins inspect gc ctypes marshal pickle code runpy pkgutil")

FILES = {
    "numpy": _words(
        "load save savez savez_compressed loadtxt savetxt genfromtxt fromfile fromregex memmap DataSource"
    )
}
FILES_BY_NAME = frozenset(("open",))
FILES_BY_ATTRIBUTE = frozenset(("tofile", "open_memmap"))
BEYOND = {
    "numpy": _words("core testing f2py distutils seterrcall setbufsize set_printoptions show_config"),
    "operator": frozenset(("attrgetter", "methodcaller")),
    "typing": frozenset(("get_type_hints", "ForwardRef")),
    "types": _words("FunctionType LambdaType CodeType MethodType FrameType ModuleType CellType"),
    "dataclasses": frozenset(("make_dataclass",)),
}
"""Of allowed modules, what is not for units."""

REFLECTION = {
    "eval": "write the expression itself",
    "exec": "write the statements themselves",
    "compile": "write the statements themselves",
    "__import__": "write an import at the top",
    "globals": "write the name itself, or keep values in a dict of your own",
    "locals": "write the name itself, or keep values in a dict of your own",
    "vars": "write the attribute itself",
    "input": "take it as an argument: nobody answers a unit",
    "breakpoint": "take it out before the unit is checked",
    "exit": "raise the exception that the contract names",
    "quit": "raise the exception that the contract names",
}
INSIDES = _words(
    "gi_frame gi_code cr_frame cr_code ag_frame ag_code f_back f_globals f_locals f_builtins "
    "f_code tb_frame co_consts co_code os sys builtins subprocess importlib socket posix "
    "inspect"
)
"""Attributes that lead out of a unit."""

LIBRARIES = _words("CDLL PyDLL cdll pydll pythonapi LibraryLoader py_object PYFUNCTYPE load_library")
"""Ways to the process's own libraries; as types they may be named."""

DUNDER_NAMES = _words("__name__ __doc__ __all__ __slots__ __match_args__ __debug__ __hash__ __author__")
DUNDER_ATTRIBUTES = _words(
    "__init__ __new__ __post_init__ __class__ __name__ __qualname__ __doc__ __enter__ "
    "__exit__ __len__ __iter__ __next__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ "
    "__repr__ __str__ __bool__ __setattr__ __getitem__ __setitem__ __delitem__ __contains__ "
    "__missing__ __call__ __index__ __array__ __array_interface__ __cause__ __context__ "
    "__notes__ __init_subclass__ __set_name__"
)

PRIVATE = "use what the language and the modules offer: the inside of the process is not needed"
COMPUTED = "write the attribute itself, or keep values in a dict"
DATA = "take arrays as arguments and return them: a unit reads and writes no files"
LIBRARY = "use the library that the contract hands to you"
PATCHING = "leave what others offer as it is, and write a function of your own"


def instead_of(module: str, more: Collection[str]) -> str:
    first = module.partition(".")[0]
    if module.startswith("."):
        return "write all that the unit needs in its one file"
    if first in _SYSTEM:
        return "leave it out: a unit computes with its arguments, and has no business with the system"
    if first in _INSIDE:
        return "leave it out: a unit needs nothing of the inside of the process"
    if first in ("pytest", "olkit", "pychild", "pysupervisor", "pywatch", "pytidy"):
        return "leave it out: a unit knows nothing of its tests"
    if first == "scipy" or first == "torch":
        return "write it with numpy: the unit is yours to write"
    also = f", and here {', '.join(sorted(more))}" if more else ""
    return f"use numpy, math, typing, dataclasses, collections, itertools or functools{also}"
