"""Mutant schemata: all mutants of a unit in one source, and what became of each at run time."""

from ol.operators.edit import apply_edit
from ol.schemata.generate import SELECTOR, Schemata
from ol.schemata.layout import Layout, blame
from ol.schemata.probe import DIFFERED, REACHED, UNKNOWN, Probe

__all__ = [
    "DIFFERED",
    "REACHED",
    "SELECTOR",
    "UNKNOWN",
    "Layout",
    "Probe",
    "Schemata",
    "apply_edit",
    "blame",
]
