"""The pages that people paste from: both languages say the same, and everything they name exists.

Invariant: commands, options, jobs, settings, exit codes and relative links are compared with the
program itself, so a renamed option fails here before it fails a reader.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from collection_pipeline.cli import exit_codes
from collection_pipeline.cli.commands import app
from collection_pipeline.orchestration.automation import SCHEDULES, SENSORS
from collection_pipeline.orchestration.jobs import JOBS
from collection_pipeline.settings import (
    NUMBERS,
    PLATFORM_BASE_URLS,
    PLATFORM_NUMBERS,
    PREFIX,
    SECRET_NAMES,
    NumberSetting,
)
from collection_pipeline.store.connection import open_engine

ROOT = Path(__file__).resolve().parents[2]
ENGLISH = ROOT / "README.md"
KOREAN = ROOT / "README.ko.md"
READMES = (ENGLISH, KOREAN)
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PROGRAM = "collection-pipeline"

both = pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def test_both_languages_have_the_same_headings_in_the_same_order() -> None:
    """Counted by level, since the words differ."""
    levels = [[len(marks) for marks, _ in headings(readme)] for readme in READMES]
    assert levels[0]
    assert levels[0] == levels[1]


def test_both_languages_show_the_same_code() -> None:
    """A command that is corrected in one language is corrected in the other."""
    english, korean = (code_blocks(readme) for readme in READMES)
    assert english
    assert english == korean


@every_page
def test_every_command_and_option_that_a_page_names_exists(page: Path) -> None:
    """Compared with what ``--help`` of the command says."""
    for arguments in commands(page):
        command, rest = split_command(arguments)
        known = options_of(command)
        for word in rest:
            if word.startswith("--"):
                assert word.split("=")[0] in known, f"{page.name}: {shlex.join(arguments)}"


def test_the_readme_names_every_command() -> None:
    """What no page tells nobody uses."""
    named = {split_command(arguments)[0][0] for arguments in commands(ENGLISH) if arguments}
    named |= set(re.findall(r"`([a-z-]+)`", prose(ENGLISH)))
    top = typer.main.get_command(app)
    assert not set(getattr(top, "commands", {})) - named


@both
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_every_number_is_told_with_its_default_and_bound(
    readme: Path, number: NumberSetting
) -> None:
    """Spec section 3."""
    row = table_row(readme, f"`{PREFIX}{number.name}`")
    assert row[1] == f"{number.default:,}"
    assert row[3] == f"{number.lowest:,} – {number.highest:,}"


@both
def test_every_other_setting_is_told(readme: Path) -> None:
    """Addresses with their default, secrets, and what a platform can override."""
    for name, url in PLATFORM_BASE_URLS.items():
        assert table_row(readme, f"`{PREFIX}{name}_BASE_URL`")[1] == f"`{url}`"
    for name in SECRET_NAMES:
        assert table_row(readme, f"`{PREFIX}{name}`")
    for name in PLATFORM_NUMBERS:
        assert f"`{name}`" in prose(readme)


@both
def test_every_exit_code_is_told(readme: Path) -> None:
    """Spec section 3."""
    codes = [value for name, value in vars(exit_codes).items() if name.isupper()]
    assert len(codes) == 7
    for code in codes:
        assert table_row(readme, str(code))


@both
def test_every_job_and_what_starts_it_is_told(readme: Path) -> None:
    """And no job is launched that does not exist."""
    jobs = {job.name for job in JOBS}
    assert set(re.findall(r" -j (\w+)", "\n".join(code_blocks(readme)))) == jobs
    starters = [one.name for one in SCHEDULES] + [one.name for one in SENSORS]
    for name in starters:
        assert f"`{name}`" in prose(readme)


@both
def test_every_make_target_exists(readme: Path) -> None:
    """The first look is two make commands."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z-]+)$", "\n".join(code_blocks(readme)), re.MULTILINE))
    assert {"demo", "test", "up"} <= named <= targets


@every_page
def test_no_relative_link_is_broken(page: Path) -> None:
    """Files exist, and a page has the heading that a link jumps to."""
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        assert linked.exists(), f"{page.name} links to {target}"
        if fragment:
            anchors = {anchor(text) for _, text in headings(linked)}
            assert fragment in anchors, f"{page.name} links to {target}"


@pytest.mark.parametrize("name", ["operations.md", "runbook.md"])
def test_the_queries_of_the_runbook_run(store_url: str, name: str) -> None:
    """On the migrated schema, so a renamed column is noticed before an incident."""
    blocks = [block for block in code_blocks(ROOT / "docs" / name) if block[:3] == "sql"]
    queries = [one.strip() for block in blocks for one in block.removeprefix("sql").split(";")]
    ours = [query for query in queries if query.startswith(("SELECT", "UPDATE"))]
    assert len(ours) >= 5
    engine = open_engine(store_url)
    try:
        with engine.connect() as connection:
            for query in ours:
                connection.exec_driver_sql(query.replace("%", "%%"))
    finally:
        engine.dispose()


def commands(page: Path) -> Iterator[list[str]]:
    """Arguments of every call of the program in the page's code, in text or in a block."""
    code = [block.replace("\\\n", " ") for block in code_blocks(page)]
    spans = re.findall(r"`([^`\n]+)`", prose(page))
    for line in "\n".join([*code, *spans]).splitlines():
        for call in re.findall(rf"(?:^|[\s(/]){PROGRAM} ([^)|;]*)", line.strip()):
            yield shlex.split(call.replace('"', "") if call.count('"') % 2 else call)


def split_command(arguments: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The command's path and the rest; fails for a command that does not exist."""
    command: object = typer.main.get_command(app)
    path: list[str] = []
    rest = list(arguments)
    while isinstance(children := getattr(command, "commands", None), dict) and rest:
        assert rest[0] in children, f"there is no command {shlex.join([*path, rest[0]])}"
        command = children[rest[0]]
        path.append(rest.pop(0))
    return tuple(path), rest


@cache
def options_of(command: tuple[str, ...]) -> frozenset[str]:
    """The long options that the command's help shows."""
    wide = {"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, [*command, "--help"], env=wide)
    assert result.exit_code == 0, result.output
    return frozenset(re.findall(r"--[a-z][a-z-]*", result.output))


def code_blocks(page: Path) -> list[str]:
    """Fenced blocks, language included."""
    return re.findall(r"^ *```(.*?)^ *```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    text = page.read_text("utf-8")
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)


def headings(page: Path) -> list[tuple[str, str]]:
    """Marks and words of every heading."""
    return re.findall(r"^(#+) (.+)$", prose(page), re.MULTILINE)


def anchor(heading: str) -> str:
    """The fragment that a heading gets."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def table_row(page: Path, first_cell: str) -> list[str]:
    """The one row that begins with ``first_cell``."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in prose(page).splitlines()
        if line.startswith(f"| {first_cell} |")
    ]
    assert len(rows) == 1, f"{page.name}: {len(rows)} rows begin with {first_cell}"
    return rows[0]
