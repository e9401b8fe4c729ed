"""What the unit's process may read of a Python test holds nothing of the oracle, on the same lines."""

import ast

import pytest
from tinycourse import ROOT

from ol.pycut import unit_part

SOURCE = b"""\
def test_x(ol):
    if ol.unit:
        seen = 1  # kept
    elif ol.oracle:
        secret = '''
    gone'''
    else:
        secret = 3
    if ol.oracle: secret; secret
    if ol.oracle:
        @secret
        def f(): pass
        secret
    else:
        seen = 2
"""


def test_only_the_units_part_is_left():
    assert (
        unit_part(SOURCE, "t").decode()
        == """\
def test_x(ol):
    if ol.unit:
        seen = 1  # kept
    else: pass




    if ol.oracle: pass
    if ol.oracle:
        pass


    else:
        seen = 2
"""
    )


@pytest.mark.parametrize("path", sorted((ROOT / "course" / "tests").rglob("*.py")), ids=lambda p: p.name)
def test_every_test_of_the_course_is_cut_line_by_line(path):
    text = path.read_bytes()
    cut = unit_part(text, path.name)
    ast.parse(cut)
    assert cut.count(b"\n") == text.count(b"\n")
    assert b"ol.want_" not in cut
