"""Python units as folders in the content-addressed cache, ready to be put on a path."""

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ol.build import Built, disk_errors

PREFIX = "python/"
"""What a unit's path in the student's tree begins with; its modules are named from there on."""
_THERE = (errno.EEXIST, errno.ENOTEMPTY)


def stage(cache: Path, sources: Mapping[str, bytes]) -> Built:
    """The unit as a folder. `sources` maps a path in the student's tree to its bytes. Like an object it
    appears under its name in one step, complete, and is never made again."""
    digest = hashlib.blake2b(digest_size=16)
    for name, text in sources.items():
        digest.update(name.encode() + b"\0" + len(text).to_bytes(8, "little") + text)
    key = digest.hexdigest()
    path = cache / "objects" / f"{key}.tree"
    if not path.is_dir():
        _make(cache, path, sources)
    return Built(key=key, path=path)


def _make(cache: Path, path: Path, sources: Mapping[str, bytes]) -> None:
    with disk_errors(cache):
        path.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix="build-", dir=cache))
        try:
            tree = work / "made"
            for name, text in sources.items():
                target = tree / name.removeprefix(PREFIX)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text)
            try:
                tree.rename(path)
            except OSError as error:
                if error.errno not in _THERE:  # another run was first
                    raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
