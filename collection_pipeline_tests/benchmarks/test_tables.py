"""What a benchmark measured reaches the page between its marks, and is never lost silently."""

from pathlib import Path

import pytest

from benchmarks.tables import FOLDER_VARIABLE, Table, UnplacedTable, placed, show

PAGE = """# Page

<!-- table: one -->
old
<!-- end -->

between

<!-- table: two -->
kept
<!-- end -->
"""
TABLE = Table("one", "What was done.", ["what", "ms"], [["a", "1"], ["b", "2"]])
SHOWN = "What was done.\n\n| what | ms |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n"


def test_a_table_fills_its_own_marks_and_nothing_else() -> None:
    """What stands outside the marks, and under another name, stays as it is."""
    filled = placed(PAGE, {"one": SHOWN})
    assert filled == PAGE.replace("old\n", f"\n{SHOWN}\n")


def test_a_page_that_is_filled_again_shows_the_last_run_only() -> None:
    """The marks stay."""
    assert placed(placed(PAGE, {"one": "first run"}), {"one": SHOWN}) == placed(
        PAGE, {"one": SHOWN}
    )


def test_a_table_without_a_mark_is_refused() -> None:
    """No measurement is lost silently: the error names every such table."""
    with pytest.raises(UnplacedTable, match="four, three"):
        placed(PAGE, {"one": SHOWN, "three": "", "four": ""})


def test_a_table_is_kept_for_the_page_where_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Printed always; a file under its name only for ``make bench``."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    show(TABLE)
    assert SHOWN in capsys.readouterr().out and not list(tmp_path.iterdir())
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    show(TABLE)
    assert (tmp_path / "one.md").read_text(encoding="utf-8") == SHOWN
