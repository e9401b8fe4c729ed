"""Fairness: correct solutions of other designs pass, wrong ones that no mutant is fail with advice.

The units lie in tests/fair/ID and tests/unfair/ID: a file each, or a folder where a module has several
units. They are graded as a student's are, over the reference of what they depend on.
"""

from functools import cache
from pathlib import Path

import pytest

import ol
from ol.build import Builder
from ol.course import find_course
from ol.grade import grade
from ol.manifest import Language, Module
from ol.report.check import text
from ol.store import Store
from ol.toolchain import find
from ol.verdict import Grade

HERE = Path(__file__).parent
COURSE = find_course(Path(ol.__file__).parent)


def solutions(kind: str) -> list[tuple[str, str]]:
    """Module and name of each solution; a file or folder that belongs to no module is an error here."""
    found = []
    for folder in sorted((HERE / kind).iterdir()):
        assert folder.name in COURSE.modules, f"{folder} is of no module"
        found += [(folder.name, path.name) for path in sorted(folder.iterdir()) if path.name[0] not in "._"]
    return found


def sources(kind: str, module: Module, name: str) -> dict[str, bytes]:
    """The solution's files at the module's paths."""
    place = HERE / kind / module.id / name
    if place.is_file():
        return {module.units[0]: place.read_bytes()}
    return {unit: (place / Path(unit).name).read_bytes() for unit in module.units}


@cache
def dependencies(module_id: str) -> dict[str, dict[str, bytes]]:
    needed = COURSE.closure(COURSE.modules[module_id].depends)
    return {m.id: {u: COURSE.reference(u).read_bytes() for u in m.units} for m in needed}


def graded(kind: str, module: Module, name: str, family: str, cache_folder: Path):
    builder = Builder(COURSE, find(family), cache_folder)
    unit = sources(kind, module, name)
    store = Store(cache_folder / "fair.sqlite")
    verdict = grade(
        unit, module, dependencies(module.id), builder, store, seed=0, reference_dependencies=True
    )
    return verdict, text(verdict, module, unit)


@pytest.mark.parametrize(("module_id", "name"), solutions("fair"))
def test_a_correct_solution_passes(module_id, name, compiler, shared_cache):
    module = COURSE.modules[module_id]
    if module.language is Language.PYTHON and compiler != "gcc":
        pytest.skip("a Python unit is not compiled; it was graded with gcc's library")
    verdict, said = graded("fair", module, name, compiler, shared_cache)
    assert verdict.grade is Grade.PASS, said


@pytest.mark.parametrize(("module_id", "name"), solutions("unfair"))
def test_a_wrong_solution_fails_with_something_to_act_on(module_id, name, any_compiler, shared_cache):
    module = COURSE.modules[module_id]
    verdict, said = graded("unfair", module, name, any_compiler, shared_cache)
    assert "next: " in said
    if verdict.grade is Grade.REFUSED:  # what the policy does not allow is told with what to write instead
        assert all(one.where and one.instead for one in verdict.refused), said
        return
    assert verdict.grade is Grade.FAIL, said
    assert verdict.failed[0].test in said
    assert verdict.failed[0].failures[0].got, said


def test_every_module_has_solutions_on_both_sides():
    fair, unfair = solutions("fair"), solutions("unfair")
    for module in COURSE.modules.values():
        assert sum(m == module.id for m, _ in fair) >= 3, module.id
        assert sum(m == module.id for m, _ in unfair) >= (8 if module.id == "L9.4" else 3), module.id
