"""The catalogue as a student reads it, with the source of a test. Pure but for reading the tests."""

import ast
import re
from pathlib import Path

from ol.course import Course
from ol.manifest import Language, Module, TestEntry
from ol.variants import closing_brace


def test_source(course: Course, module: Module, test: TestEntry) -> str:
    """The text of a test, as its author wrote it; empty when the source does not define it."""
    pattern = "*.c" if test.language is Language.C else "test_*.py"
    for path in sorted(course.tests(module).glob(pattern)):
        text = path.read_text(encoding="utf-8")
        found = _c_test(text, test.name) if test.language is Language.C else _py_test(text, test.name)
        if found:
            return f"{_place(path)}:{found[0]}\n{found[1]}"
    return ""


def _place(path: Path) -> str:
    return "/".join(path.parts[-4:])


def _c_test(text: str, name: str) -> tuple[int, str] | None:
    head = re.search(rf"^OL_TEST\({name}\)\s*\{{", text, re.MULTILINE)
    if not head:
        return None
    end = closing_brace(text, head.end() - 1)
    return text.count("\n", 0, head.start()) + 1, text[head.start() : end]


def _py_test(text: str, name: str) -> tuple[int, str] | None:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == f"test_{name}":
            return node.lineno, ast.get_source_segment(text, node) or ""
    return None
