"""The course on disk: where its parts are, and the modules as a graph."""

from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from ol.errors import ToolError, unknown
from ol.exits import Exit
from ol.manifest import CourseEntry, Module, parse_course, parse_module


@dataclass(frozen=True)
class Course:
    """`root` holds course/, reference/ and mutants/: a clone, or the tree inside an installed wheel.

    `testkit` is the kit that tests are built with; a course of its own uses that of ol.
    """

    root: Path
    testkit: Path

    @cached_property
    def entry(self) -> CourseEntry:
        path = self.root / "course" / "course.toml"
        return parse_course(_read(path), "course/course.toml")

    @cached_property
    def modules(self) -> dict[str, Module]:
        """All modules by id, dependencies before their users. Raises ToolError for a broken graph."""
        folder = self.root / "course" / "modules"
        found = [parse_module(_read(p), f"course/modules/{p.name}") for p in folder.glob("*.toml")]
        by_id = {m.id: m for m in sorted(found, key=lambda m: m.id)}
        for module in by_id.values():
            for needed in module.depends:
                if needed not in by_id:
                    raise ToolError(
                        f"{module.id} depends on {needed!r}, which is not a module",
                        where=f"course/modules/{module.id}.toml",
                        next_step="correct `depends`, or add that module's catalogue",
                    )
        try:
            order = list(TopologicalSorter({m.id: m.depends for m in by_id.values()}).static_order())
        except CycleError as error:
            raise ToolError(
                "the modules depend on each other in a circle: " + " → ".join(error.args[1]),
                where="course/modules",
                next_step="remove one of these dependencies",
            ) from None
        return {i: by_id[i] for i in order}

    def module(self, module_id: str) -> Module:
        try:
            return self.modules[module_id]
        except KeyError:
            raise unknown(
                "module", module_id, self.modules, next_step="`ol tests` lists the modules"
            ) from None

    def closure(self, ids: tuple[str, ...]) -> list[Module]:
        """The modules of `ids` and all that they depend on, dependencies first."""
        wanted: set[str] = set()
        todo = list(ids)
        while todo:
            one = todo.pop()
            if one not in wanted:
                wanted.add(one)
                todo += self.modules[one].depends
        return [m for m in self.modules.values() if m.id in wanted]

    def linked(self, module: Module) -> list[Module]:
        """The modules whose units share the unit's process, in the order they are opened."""
        return [m for m in self.modules.values() if m.id in module.links]

    def oracles(self, module: Module) -> list[Module]:
        """The modules that the oracle's process opens, in that order."""
        return self.closure(module.depends)

    def contract_of(self, unit: str) -> tuple[str, ...]:
        """The headers that the compiler holds a unit against, by include name."""
        return next((m.contract for m in self.modules.values() if unit in m.units), ())

    @property
    def include(self) -> Path:
        return self.root / "course" / self.entry.include

    def tests(self, module: Module) -> Path:
        return self.root / "course" / "tests" / module.id

    def python_contract(self, module: Module) -> Path:
        return self.root / "course" / "contracts" / "python" / module.contract[0]

    def fixtures(self, module: Module) -> Path:
        return self.root / "course" / "fixtures" / module.id

    def reference(self, unit: str) -> Path:
        return self.root / "reference" / unit

    def patch(self, module: Module, mutant_id: str) -> Path:
        return self.root / "mutants" / module.id / f"{mutant_id}.patch"


def find_course(package: Path, named: Path | None = None) -> Course:
    """The course in the folder `named`; else the one beside the package in a clone, or inside it in a
    wheel.

    `package` is the folder of the ol package. Raises ToolError when there is none.
    """
    own = next((r for r in (package.parent, package / "_tree") if _is_course(r)), None)
    if own is None:
        raise ToolError(
            "the course's files are missing from this installation",
            where=str(package),
            next_step="install again: pip install --force-reinstall ol-grader",
        )
    if named is not None and not _is_course(named):
        raise ToolError(
            "there is no course in this folder: it has no course/course.toml",
            where=str(named),
            next_step="unset OL_COURSE, or let it name the folder that holds course/, reference/, mutants/",
            code=Exit.USAGE,
        )
    return Course(root=named or own, testkit=own / "course" / "testkit")


def _is_course(root: Path) -> bool:
    return (root / "course" / "course.toml").is_file()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ToolError(
            f"cannot read a file of the course: {reason}",
            where=str(path),
            next_step="restore the file from the course's repository",
        ) from None
