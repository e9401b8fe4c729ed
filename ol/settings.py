"""What a run of ol starts from. The environment is read here and nowhere else."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ol.course import Course, find_course
from ol.workspace import Workspace, find_workspace


@dataclass(frozen=True, kw_only=True)
class Settings:
    course: Course
    cache: Path
    named_workspace: Path | None
    here: Path

    @property
    def results(self) -> Path:
        """The store of results."""
        return self.cache / "results.sqlite"

    def workspace(self) -> Workspace:
        """The workspace asked for, or the one around this folder. Raises ToolError."""
        return find_workspace(self.here, self.course.root, self.named_workspace)


def load(environment: Mapping[str, str] = os.environ, *, workspace: str | None = None) -> Settings:
    """OL_CACHE names the cache; else $XDG_CACHE_HOME/ol, else ~/.cache/ol. OL_COURSE names the folder
    of another course than the one that came with ol. `workspace` goes before OL_WORKSPACE."""
    if named := environment.get("OL_CACHE"):
        cache = Path(named).expanduser()
    elif base := environment.get("XDG_CACHE_HOME"):
        cache = Path(base) / "ol"
    else:
        cache = Path.home() / ".cache" / "ol"
    named = environment.get("OL_COURSE")
    course = find_course(Path(__file__).parent, Path(named).expanduser().absolute() if named else None)
    place = workspace or environment.get("OL_WORKSPACE")
    return Settings(
        course=course,
        cache=cache.absolute(),
        named_workspace=Path(place).expanduser() if place else None,
        here=Path.cwd(),
    )
