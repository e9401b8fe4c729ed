"""No attack is a pass, with the sandbox and without, and nothing that one started outlives the verdict.

The policies stop most of them and are tested alone in test_policy_*.py. Here those that only a layer below
can stop run as grading runs them, and the others with the policies switched off, so that each layer is seen
to work. As root and as an ordinary user: the tests run as whoever starts them.
"""

from pathlib import Path

import attack_units
import attacking
import pytest
from attacking import PASS, Arena

from ol import sandbox
from ol.sandbox import Kind, Sandbox, Wish

BELOW = {
    "address_arithmetic": "run:",
    "code_in_immediate": "run:",
    "const_cast": "run: check",
    "control_honest": PASS,
    "control_oob": "run: sanitizer",
    "control_wrong": "run: check",
    "grope_heap": "run: sanitizer",
    "huge_static": "compiler: it compiles within limits",
    "infinite_loop": "run: time-out",
    "overwrite_return": "run:",
    "poke_pool": "run: check",
    "remember_calls": "run: check",
    "stack_overflow": "run:",
}
BOMBS = ("macro_bomb", "switch_bomb", "include_devzero")
# Right answers beside something that harms nobody where it runs, or that only the policies can see.
ONLY_POLICY = {
    *("allocate_by_tl_alloc", "asan_unpoison", "daemon_holds_pipe", "errno", "key_destructor", "locale"),
    *("lsan_disable", "no_sanitize", "no_sanitize_by_injection", "no_sanitize_by_operator"),
    *("no_sanitize_by_pragma", "optimize_pragma", "sanitize_feature", "sanitize_ifdef", "write_files"),
}
# The compiler reads what the grader may read where there is no sandbox.
ONLY_POLICY_OUTSIDE = {"include_reference"}
REST = [n for n in attack_units.NAMES if n not in BELOW and n not in BOMBS]


Fates = dict[str, tuple[str, list[int]]]


@pytest.fixture(scope="module", params=list(Kind))
def place(request: pytest.FixtureRequest) -> Sandbox:
    return attacking.place(request.param)


@pytest.fixture(scope="module")
def arena(compiler: str, place: Sandbox, shared_cache: Path) -> Arena:
    return Arena.make(compiler, place, shared_cache)


@pytest.fixture(scope="module")
def with_policies(arena: Arena) -> Fates:
    return arena.fates(BELOW, policy=True)


@pytest.fixture(scope="module")
def without_policies(arena: Arena) -> Fates:
    return arena.fates(REST, policy=False)


@pytest.mark.parametrize("name", BELOW)
def test_what_the_policies_let_through_is_stopped_below(with_policies: Fates, name: str) -> None:
    fate, left = with_policies[name]
    assert fate.startswith(BELOW[name])
    assert left == []


@pytest.mark.parametrize("name", REST)
def test_without_the_policies_the_layers_below_refuse(
    without_policies: Fates, place: Sandbox, name: str
) -> None:
    fate, left = without_policies[name]
    outside = ONLY_POLICY_OUTSIDE if place.kind is Kind.NONE else set()
    assert fate != PASS or name in ONLY_POLICY | outside
    assert left == []


@pytest.fixture(scope="module")
def refused(compiler: str, shared_cache: Path) -> Fates:
    arena = Arena.make(compiler, sandbox.find(Wish.OFF), shared_cache)
    return arena.fates(ONLY_POLICY | ONLY_POLICY_OUTSIDE, policy=True)


@pytest.mark.parametrize("name", sorted(ONLY_POLICY | ONLY_POLICY_OUTSIDE))
def test_what_only_the_policies_can_see_they_refuse(refused: Fates, name: str) -> None:
    assert refused[name][0].startswith(("source:", "object:", "compiler:"))


@pytest.fixture(scope="module")
def exploded(any_compiler: str, shared_cache: Path) -> Fates:
    arena = Arena.make(any_compiler, sandbox.find(Wish.AUTO), shared_cache)
    return arena.fates(BOMBS, policy=False)


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_end_by_the_compilers_limits(exploded: Fates, name: str) -> None:
    assert exploded[name][0].startswith("compiler: ")
