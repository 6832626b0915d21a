"""The page of figures holds what was recorded, and nothing else."""

import json
from pathlib import Path

import pytest

from collection_pipeline_tests.kit import proof_page
from collection_pipeline_tests.kit.proof import FIGURES_VARIABLE, LONG_VARIABLE, is_long, record

PAGE = f"before\n{proof_page.BEGIN}\nold\n{proof_page.END}\nafter\n"


def test_figures_of_one_promise_are_added_up_by_server() -> None:
    """Sums, but the largest of `most_` and the smallest of `least_`."""
    told = [
        {"promise": "p", "server": "mysql", "tries": 2, "most_lost": 1, "least_left": 5},
        {"promise": "p", "server": "mysql", "tries": 3, "most_lost": 0, "least_left": 4},
        {"promise": "p", "server": "mariadb", "tries": 1},
    ]
    found = proof_page.gathered(json.dumps(one) for one in told)
    assert found == {
        ("p", "mysql"): {"tries": 5, "most_lost": 1, "least_left": 4},
        ("p", "mariadb"): {"tries": 1},
    }


def test_only_the_table_of_the_page_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What tests record is what the page says; the text around it stays."""
    monkeypatch.setenv(FIGURES_VARIABLE, str(tmp_path))
    record("crash points", tries=1200, slices_lost=3)
    page = tmp_path / "page.md"
    page.write_text(PAGE)

    proof_page.main(tmp_path, page)

    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert "slices lost 3, tries 1,200 |" in text


def test_a_page_is_never_written_from_nothing(tmp_path: Path) -> None:
    """Neither an empty table nor a page without a place for it."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    with pytest.raises(proof_page.NoFigures):
        proof_page.main(tmp_path, page)
    assert page.read_text() == PAGE
    with pytest.raises(proof_page.NoPlaceForFigures):
        proof_page.written("no marks", "table")


def test_a_misspelt_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long run that silently was a short one would prove nothing."""
    monkeypatch.setenv(LONG_VARIABLE, "yes")
    with pytest.raises(ValueError, match="long"):
        is_long()
