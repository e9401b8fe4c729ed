"""What a run of ol starts from. The environment is read here and nowhere else."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ol.course import Course, find_course


@dataclass(frozen=True, kw_only=True)
class Settings:
    course: Course
    cache: Path


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """OL_CACHE names the cache; else $XDG_CACHE_HOME/ol, else ~/.cache/ol. OL_COURSE names the folder
    of another course than the one that came with ol."""
    if named := environment.get("OL_CACHE"):
        cache = Path(named).expanduser()
    elif base := environment.get("XDG_CACHE_HOME"):
        cache = Path(base) / "ol"
    else:
        cache = Path.home() / ".cache" / "ol"
    named = environment.get("OL_COURSE")
    course = find_course(Path(__file__).parent, Path(named).expanduser().absolute() if named else None)
    return Settings(course=course, cache=cache.absolute())
