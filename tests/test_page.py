"""The page in a browser without a network: what the terminal says, for every eye and with a keyboard."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import fetched
from tinycourse import ROOT, TinyCourse, finish

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
SCHEMES = ("light", "dark")
each_scheme = pytest.mark.parametrize("scheme", SCHEMES)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not path:
        pytest.skip("no chromium")
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="module")
def audited(
    tmp_path_factory: pytest.TempPathFactory, any_compiler: str
) -> tuple[Path, dict[str, Any], str]:
    """A page with every state, what the JSON says and what the terminal says."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(ROOT / "tests" / "courses" / "tiny", folder / "tiny")
    reference = folder / "tiny" / "reference" / "c" / "src" / "sum.c"
    text = reference.read_text().replace(
        "    return 0;",
        "    unsigned u = (unsigned)n;\n    if (u <= 0u) return 0; /* <b>&amp; */\n    return 0;",
    )
    reference.write_text(text)
    course = TinyCourse(
        root=folder / "tiny", cache=folder / "cache", monkeypatch=pytest.MonkeyPatch(), capsys=None
    )  # type: ignore[arg-type]
    arguments = ("audit", "T1", "--generated", "--compiler", any_compiler)
    found = finish(course.start(*arguments, "--json"), 240).json
    alive = [m["key"] for m in found["mutants"] if m["state"] == "survived"]
    accepted = f'[[accepted]]\nreason = "no <caller> can see & tell"\nmutants = [{json.dumps(alive[0])}]\n'
    (folder / "tiny" / "mutants" / "T1" / "accepted.toml").write_text(accepted)
    page = folder / "page.html"
    said = finish(course.start(*arguments, "--html", str(page)), 240).out
    return page, finish(course.start(*arguments, "--json"), 240).json, said


def opened(browser: Any, path: Path, **how: Any) -> Any:
    """The page in a window of its own that has no network; it asks for nothing but itself, and says
    nothing on the console."""
    context = browser.new_context(offline=True, **how)
    view = context.new_page()
    view.asked, view.said = [], []
    view.on("request", lambda request: view.asked.append(request.url))
    view.on("console", lambda message: view.said.append(message.text))
    view.on("pageerror", lambda error: view.said.append(str(error)))
    view.goto(path.as_uri())
    assert (view.asked, view.said) == ([path.as_uri()], [])
    return view


def test_the_page_shows_the_counts_and_survivors_of_the_terminal(browser: Any, audited: Any) -> None:
    path, found, said = audited
    view = opened(browser, path)
    counts = {state: n for state, n in found["counts"].items() if n}
    assert {"killed", "survived", "accepted"} <= set(counts)
    shown = view.locator(".counts li").evaluate_all(
        "all => all.map(i => [i.querySelector('.state').textContent, +i.querySelector('b').textContent])"
    )
    assert dict(shown) == counts
    rows = view.locator("li[data-state]").evaluate_all("rows => rows.map(row => row.dataset.state)")
    assert Counter(rows) == counts
    assert f"score {found['score']:.1f} %" in view.locator("header").inner_text()
    survivors = view.locator('li[data-state="survived"]')
    assert survivors.count() == counts["survived"] == said.count("\n  reached in") + said.count("\n  never")
    for k, text in enumerate(survivors.all_inner_texts()):
        assert survivors.nth(k).is_visible()
        place, _, why = text.partition("\n")
        line, action = place.removeprefix("survived ").split(" ", 1)
        assert f"\nsum.c:{line} {action.rsplit(' ', 1)[0]}" in said and f"\n  {why}" in said


def test_filters_count_what_they_show(browser: Any, audited: Any) -> None:
    path, found, _ = audited
    view = opened(browser, path)
    assert view.locator("#shown").inner_text() == f"{len(found['mutants'])} mutants shown"
    view.get_by_label("killed").uncheck()
    left = [m for m in found["mutants"] if m["state"] != "killed"]
    assert view.locator("#shown").inner_text() == f"{len(left)} mutants shown"
    view.get_by_label("operator").select_option("relational")
    left = [m for m in left if m["operator"] == "relational"]
    assert view.locator("#shown").inner_text() == f"{len(left)} mutants shown"
    assert view.locator("li[data-state]:not([hidden])").count() == len(left) > 0


def test_the_page_is_worked_with_a_keyboard(browser: Any, audited: Any) -> None:
    view = opened(browser, audited[0])
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.textContent") == "To the source"
    assert view.locator(".skip").evaluate("e => e.getBoundingClientRect().left >= 0")
    view.keyboard.press("Tab")
    assert view.evaluate("document.activeElement.name") == "state"
    view.keyboard.press("Space")
    assert not view.evaluate("document.activeElement.checked")
    view.keyboard.press("Space")
    for _ in range(60):
        view.keyboard.press("Tab")
        if view.evaluate("document.activeElement.matches('details:not([open]) > summary')"):
            break
    view.keyboard.press("Enter")
    assert view.evaluate("document.activeElement.parentElement.open")
    outline = view.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_the_page_is_read_without_scripts(browser: Any, audited: Any) -> None:
    path, found, _ = audited
    view = opened(browser, path, java_script_enabled=False)
    assert not view.locator("#controls").is_visible()
    shown = [one.is_visible() for one in view.locator('li[data-state="survived"]').all()]
    assert shown == [True] * found["counts"]["survived"]


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checker of accessibility; skipped where it cannot be fetched."""
    return (fetched("axe-core@4", tmp_path_factory.mktemp("axe")) / "axe.min.js").read_text()


@each_scheme
def test_the_page_is_for_every_eye_and_ear(browser: Any, audited: Any, axe: str, scheme: str) -> None:
    view = opened(browser, audited[0], color_scheme=scheme)
    view.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    view.evaluate(axe)
    result = view.evaluate("axe.run()")
    told = [f"{v['id']}: {node['html'][:100]}" for v in result["violations"] for node in v["nodes"]]
    assert told == []
    assert {"color-contrast", "label", "svg-img-alt"} <= {rule["id"] for rule in result["passes"]}


def test_dark_is_dark_and_light_is_light(browser: Any, audited: Any) -> None:
    def brightness(scheme: str) -> int:
        view = opened(browser, audited[0], color_scheme=scheme)
        colour = view.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    assert brightness("dark") < 100 < 600 < brightness("light")


def test_the_page_fits_a_narrow_screen(browser: Any, audited: Any) -> None:
    view = opened(browser, audited[0], viewport={"width": 320, "height": 800})
    assert view.evaluate("document.documentElement.scrollWidth") <= 320
