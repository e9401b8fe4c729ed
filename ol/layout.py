"""A new module laid out, for an author to fill in. What stands in angle brackets is to be written."""

import os
import re
from pathlib import Path

from ol.author import writing
from ol.course import Course
from ol.errors import ToolError
from ol.exits import Exit
from ol.manifest import Language

_CATALOGUE = """id = "{id}"
title = "<what it is>"
language = "{language}"
units = ["{unit}"]
contract = ["{header}"]
defines = ["{function}"]
depends = []
links = []
{allowed} = []

[[tests]]
id = "{test}"
kind = ["unit"]
checks = "<the worked example of section 3>"
why = "<what breaks downstream without it>"
"""
_CHAPTER = """# <What it is>

| | |
|---|---|
| Module | `{id}` |
| You build | `{unit}` |

## 1. Why now

## 2. Principles

## 3. Worked example by hand

## 4. The interface

### What the tests check

| Test | Kind | Checks | Why it matters downstream |
|---|---|---|---|
| `{test}` | unit | <the worked example of section 3> | <what breaks downstream without it> |

## 5. Pitfalls

| Pitfall | Symptom | Caught by |
|---|---|---|

## 6. Where it's used next
"""
_C_TEST = """#include "ol_test.h"
#include "{header}"

OL_TEST(hand_example) {{
    ol_note("section 3");
    OL_UNIT {{ ol_saw_int("result", {function}()); }}
    OL_ORACLE {{ ol_want_int("result", 1); }}
}}
"""
_PY_TEST = """def test_hand_example(ol):
    ol.note("section 3")
    if ol.unit:
        from <the unit's module> import {function}

        ol.saw_int("result", {function}())
    if ol.oracle:
        ol.want_int("result", 1)
"""
_C_HEADER = """/* <What it is, once, for whoever calls it.> */
#pragma once

/* <Shapes, statuses, edge cases, what is left open.> */
int {function}(void);
"""


def new_module(course: Course, module_id: str, unit: str, header: str, function: str) -> list[Path]:
    """Lays out a module: catalogue, chapter, test, stub of a reference. Nothing that exists is touched."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9.]*", module_id):
        raise ToolError(f"a module's id is letters, digits and dots, not {module_id!r}", code=Exit.USAGE)
    if module_id in course.modules:
        raise ToolError(
            f"there is a module {module_id} already",
            where=f"course/modules/{module_id}.toml",
            code=Exit.USAGE,
        )
    language = Language.PYTHON if unit.endswith(".py") else Language.C
    files = _layout(module_id, unit, header, function, language)
    written = []
    with writing():
        for name, text in files.items():
            target = course.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(target):
                target.write_text(text, encoding="utf-8")
                written.append(target)
    return written


def _layout(module_id: str, unit: str, header: str, function: str, language: Language) -> dict[str, str]:
    """The files of a new module, by path. What is in angle brackets is the author's to write."""
    is_c = language is Language.C
    test = "c:hand_example" if is_c else "py:hand_example"
    contract = f"course/contracts/c/include/{header}" if is_c else f"course/contracts/python/{header}"
    suffix = ".c" if is_c else ".py"
    return {
        f"course/modules/{module_id}.toml": _CATALOGUE.format(
            id=module_id,
            language=language,
            unit=unit,
            header=header,
            function=function,
            test=test,
            allowed="may_call" if is_c else "may_import",
        ),
        f"course/chapters/{module_id}.md": _CHAPTER.format(
            id=module_id, unit=unit, test="hand_example" if is_c else test
        ),
        f"course/tests/{module_id}/test_{Path(unit).stem}{suffix}": (
            _C_TEST.format(header=header, function=function) if is_c else _PY_TEST.format(function=function)
        ),
        contract: _C_HEADER.format(function=function) if is_c else f"def {function}() -> int: ...\n",
        f"reference/{unit}": (
            f'#include "{header}"\n\nint {function}(void) {{ return 1; }}\n'
            if is_c
            else f"def {function}() -> int:\n    return 1\n"
        ),
    }
