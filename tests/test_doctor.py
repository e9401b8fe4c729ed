"""`ol doctor` tells the truth, also where nothing is installed."""

import shutil

from ol import doctor
from ol.toolchain import FAMILIES


def test_it_ends_well_where_a_compiler_works(tiny):
    ran = tiny.ol("doctor", "--json")
    found = {f["name"]: f for f in ran.json["findings"]}
    assert ran.json["usable"]
    assert ran.code == 0
    assert found["a compiler with its sanitizers"]["said"]
    assert any(found[family]["holds"] for family in FAMILIES)


def test_a_bare_machine_is_told_what_to_install(tiny, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(doctor, "_tried", lambda *_: (127, "No such file or directory"))
    ran = tiny.ol("doctor")
    assert ran.code == 69
    assert "NO   a compiler with its sanitizers" in ran.out
    assert "install" in ran.out


def test_a_sanitizer_that_reports_nothing_does_not_hold(monkeypatch):
    monkeypatch.setattr(doctor, "_tried", lambda *_: (0, ""))
    assert doctor._trouble("gcc", "thread", b"") == "a fault is not reported"
