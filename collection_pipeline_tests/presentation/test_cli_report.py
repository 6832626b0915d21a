"""``report``: read-only, in four forms, written whole or not at all (R9)."""

import csv
import io
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from collection_pipeline.collection.report import report_file
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.report_days import add_day, complete, exhausted

BOM = b"\xef\xbb\xbf"


@pytest.fixture
def weeks(store: Store) -> int:
    """Ten days of a search that never reaches the end of its list, by the machine's clock."""
    store.now = None
    today = store.run(store.clock.today)
    search, board = store.add_source("saramin"), store.add_source("greenhouse")
    store.write(
        "UPDATE job_sources SET label = '=HYPERLINK(\"http://x\";1)' WHERE id = :i", i=board
    )
    store.write(
        "UPDATE job_sources SET label = '사람인 · 백엔드, \"전체\"' WHERE id = :i", i=search
    )
    for back in range(1, 11):
        cut = exhausted("LIST_PAGES", 50, 1000, stated_total=2594)
        add_day(store, search, today - timedelta(days=back), cut)
        add_day(store, board, today - timedelta(days=back), complete(1, 30))
    return search


def _rows(text: str) -> list[dict[str, Any]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_table_says_figures_proposal_and_choices(cli: CommandLine, weeks: int) -> None:
    """Everything that a person must decide is on one page."""
    shown = cli("report")
    assert shown.code == 0
    assert "saramin list_pages: 50 -> 163 (measured)" in shown.out
    assert f"source {weeks} (사람인 · 백엔드" in shown.out
    assert "LIST_PAGES on 10 of 10 days" in shown.out
    assert "Narrower conditions" in shown.out
    assert "More budget: 50 to 163" in shown.out
    assert shown.out.count(": no cycles") == 18


def test_the_present_budget_is_that_of_the_settings(cli: CommandLine, weeks: int) -> None:
    """COLLECTION_SARAMIN_DAILY_MAX_LIST_PAGES is what would be changed."""
    shown = cli("report", "--format", "json", SARAMIN_DAILY_MAX_LIST_PAGES="60").json
    (pages,) = [
        one
        for one in shown["budgets"]
        if (one["platform"], one["measure"]) == ("saramin", "list_pages")
    ]
    assert (pages["present"], pages["proposed"], pages["usable"]) == (60, 163, 10)
    assert {row["platform"] for row in shown["platforms"]} == {"saramin", "greenhouse"}
    assert len(shown["sources"]) == 2
    assert shown["repeatedly_exhausted"][0]["job_source_id"] == weeks


def test_csv_opens_in_a_korean_spreadsheet_and_starts_no_formula(
    cli: CommandLine, weeks: int, tmp_path: Path
) -> None:
    """UTF-8 with its mark; a label that begins a formula gets an apostrophe."""
    path = tmp_path / "보고서.csv"
    written = cli("report", "--format", "csv", "--output", path)
    assert (written.code, written.err) == (0, "")
    content = path.read_bytes()
    assert content.startswith(BOM)
    rows = _rows(content.decode("utf-8-sig"))
    assert [row["scope"] for row in rows] == ["platform", "platform", "source", "source"]
    by_source = {row["job_source_id"]: row for row in rows}
    assert by_source[str(weeks)]["label"] == '사람인 · 백엔드, "전체"'
    assert by_source[str(weeks)]["list_pages_proposed"] == "163"
    assert "LIST_PAGES on 10 of 10 days" in by_source[str(weeks)]["reasoning"]
    labels = {row["label"] for row in rows}
    assert '\'=HYPERLINK("http://x";1)' in labels
    assert not any(cell[:1] in {"=", "+", "-", "@"} for row in rows for cell in row.values())
    assert list(tmp_path.iterdir()) == [path]
    plain = cli("report", "--format", "csv").out
    assert _rows(plain) == rows


def test_a_file_is_replaced_only_when_asked(cli: CommandLine, weeks: int, tmp_path: Path) -> None:
    """Exit code 2, one sentence, and the old content."""
    path = tmp_path / "report.csv"
    path.write_text("mine")
    refused = cli("report", "--format", "csv", "--output", path)
    assert refused.code == 2
    assert "--force" in refused.sentence
    assert path.read_text() == "mine"
    assert cli("report", "--format", "csv", "--output", path, "--force").code == 0
    assert path.read_bytes().startswith(BOM)
    assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_takes_no_file_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    """Exit code 2 and one sentence, before the database is read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, tmp_path / "none" / "report.csv", pipe):
        for force in ([], ["--force"]):
            refused = cli("report", "--format", "csv", "--output", path, *force)
            assert refused.code == 2
            assert str(path) in refused.sentence
    long = cli("report", "--format", "csv", "--output", tmp_path / ("x" * 300))
    assert (long.code, bool(long.sentence)) == (2, True)


def test_a_failed_write_leaves_nothing(
    cli: CommandLine, weeks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk is a sentence; neither a part nor the old file is lost."""

    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "report.json"
    path.write_text("mine")
    monkeypatch.setattr(report_file, "_sync", full)
    refused = cli("report", "--format", "json", "--output", path, "--force")
    assert refused.code == 2
    assert "No space left" in refused.sentence
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_that_was_taken_meanwhile_is_not_overwritten(
    cli: CommandLine, weeks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the file system knows no links."""
    path = tmp_path / "report.json"

    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    def quicker(_: Path) -> None:
        path.write_text("another's")

    with monkeypatch.context() as patched:
        patched.setattr(report_file, "_sync", quicker)
        _refuses_the_taken(cli, path)
        patched.setattr(os, "link", no_links)
        _refuses_the_taken(cli, path)
        patched.setattr(report_file, "_sync", lambda _: None)
        assert cli("report", "--format", "json", "--output", path).code == 0
    assert path.read_text().startswith("{")
    assert list(tmp_path.iterdir()) == [path]


def _refuses_the_taken(cli: CommandLine, path: Path) -> None:
    refused = cli("report", "--format", "json", "--output", path)
    assert (refused.code, path.read_text()) == (2, "another's")
    assert "--force" in refused.sentence
    path.unlink()


def test_parquet_says_what_it_needs(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An optional extra: exit code 3 without it, and nothing written."""
    monkeypatch.setattr(report_file, "find_spec", lambda _: None)
    path = tmp_path / "report.parquet"
    refused = cli("report", "--format", "parquet", "--output", path)
    assert refused.code == 3
    assert "pyarrow" in refused.sentence
    assert not path.exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--days", "0"],
        ["--days", "367"],
        ["--format", "xml"],
        ["--format", "parquet"],
        ["--output", "report.txt"],
    ],
)
def test_wrong_options_are_refused(cli: CommandLine, options: list[str]) -> None:
    """Exit code 2; Parquet needs a file, the table takes none."""
    assert cli("report", *options).code == 2


def test_an_empty_database_has_a_report(cli: CommandLine) -> None:
    """It says so; files have their header."""
    assert "no source had a cycle" in cli("report").out
    assert cli("report", "--format", "json").json["budgets"] == []
    assert _rows(cli("report", "--format", "csv").out) == []
