"""Reads the pages and reports that `ol audit` writes."""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest


class Page(HTMLParser):
    """Checks that tags nest, and notes texts and addresses."""

    VOID = ("meta", "input", "br", "link", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.addresses: list[str] = []
        self.states: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href")]
        self.states += [v or "" for k, v in attrs if k == "data-state"]
        self.cells += [v or "" for k, v in attrs if k == "class" and tag == "rect"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def fetched(package: str, folder: Path) -> Path:
    """The files of an npm package, unpacked in `folder`; skipped where it cannot be had."""
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("no npm")
    done = subprocess.run([npm, "pack", "--silent", package], cwd=folder, capture_output=True, timeout=120)
    if done.returncode != 0:
        pytest.skip(f"{package} cannot be fetched")
    (packed,) = folder.glob("*.tgz")
    shutil.unpack_archive(packed, folder, "gztar")
    return folder / "package"


def fetched_schema(folder: Path) -> Any:
    """That of mutation-testing-report-schema, from its package."""
    files = fetched("mutation-testing-report-schema@3", folder)
    return json.loads((files / "src/mutation-testing-report-schema.json").read_text())
