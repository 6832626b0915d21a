"""The portal's CSV file as a source: text as it is, bad lines told, others refused (R49, R50)."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from collection_pipeline.domain.library import LibraryFailure, LibraryPage
from collection_pipeline.ingest import csv_lines
from collection_pipeline.ingest.assembly import assemble_ingest
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.csv_lines import CsvNotReadable, NotALibraryCsv
from collection_pipeline.ingest.csv_source import CsvSnapshot
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.library_rows import (
    COLUMNS,
    csv_text,
    library_row,
    library_rows,
)
from collection_pipeline_tests.kit.library_world import LibraryWorld

ROWS = library_rows(range(25))
HEADER = ",".join(COLUMNS)
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file of the given text or bytes."""

    def writing(content: str | bytes, codec: str = "utf-8") -> Path:
        path = tmp_path / "libraries.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode(codec))
        return path

    return writing


def pages(path: Path, chunk_rows: int = 10) -> list[LibraryPage]:
    """Every page of a file."""
    return list(CsvSnapshot(path, chunk_rows).read(lambda: None))


def rows_of(found: list[LibraryPage]) -> list[dict[str, str]]:
    """All rows of all pages."""
    return [dict(row) for page in found for row in page.rows]


def problems_of(found: list[LibraryPage]) -> list[str]:
    """All problems of all pages."""
    return [problem for page in found for problem in page.problems]


def line_of(number: int, **changes: str) -> str:
    """One library as a line without quotes."""
    return ",".join(library_row(number, 0, **changes).values())


@pytest.mark.parametrize("codec", ["cp949", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_both_codings_and_line_ends_give_the_same_rows(write: Write, codec: str, end: str) -> None:
    """CP949 or UTF-8, with or without its mark; chunk by chunk, in order."""
    found = pages(write(csv_text(ROWS, end=end), codec))
    assert rows_of(found) == ROWS and problems_of(found) == []
    assert [(page.number, page.stated_total, len(page.rows)) for page in found] == [
        (1, None, 10),
        (2, None, 10),
        (3, None, 5),
    ]


def test_every_field_stays_the_text_that_it_is(write: Write) -> None:
    """Leading zeros, words that pandas takes for nothing, numbers and spaces are kept."""
    odd = library_row(1, provider_code="0031000", library_name="NA", district="null")
    odd |= {"열람좌석수": "1e5", "휴관일": "  None ", "부지면적": "007.50", "운영기관명": "nan"}
    assert rows_of(pages(write(csv_text([odd])))) == [odd]


def test_quoted_fields_may_hold_commas_quotes_and_lines(write: Write) -> None:
    """The rules of Python's csv reader; the line numbers stay those of the file."""
    quoted = line_of(2, closed_days="월").replace("월", '"월요일, ""휴관""\r\n그리고 화요일"')
    stray = line_of(3, operator_name='동 5" 도서관')
    text = "\r\n".join([HEADER, line_of(1), quoted, stray, "too,few", line_of(4)])
    found = pages(write(text))
    rows = rows_of(found)
    assert [row["도서관명"] for row in rows] == [f"작은도서관 {n}" for n in (1, 2, 3, 4)]
    assert rows[1]["휴관일"] == '월요일, "휴관"\n그리고 화요일'
    assert rows[2]["운영기관명"] == '동 5" 도서관'
    assert problems_of(found) == ["line 6: too few fields"]


def test_columns_may_come_in_any_order_with_others_between(write: Write) -> None:
    """Fields go by name; what the register does not know is told and stays with the raw row."""
    columns = ["비고", *reversed(COLUMNS), "연번"]
    rows = [{**row, "비고": "x", "연번": str(n)} for n, row in enumerate(ROWS)]
    found = pages(write(csv_text(rows, columns), "cp949"))
    assert rows_of(found) == rows and problems_of(found) == []
    assert [page.notes for page in found] == [
        ("columns that the register does not know: 비고, 연번",),
        (),
        (),
    ]


def test_lines_with_too_many_or_too_few_fields_are_told_and_the_rest_kept(write: Write) -> None:
    """By line number, blank lines counted; an empty last field is a field."""
    lines = [HEADER, line_of(0) + ",a,b,c", line_of(1), line_of(2) + ",more", ""]
    lines += [
        line_of(3, provider_name=""),
        line_of(4).rsplit(",", 1)[0],
        line_of(5) + "," * 40,
        "x",
        line_of(6),
    ]
    found = pages(write("\n".join(lines)), chunk_rows=2)
    assert [row["도서관명"] for row in rows_of(found)] == [f"작은도서관 {n}" for n in (1, 3, 6)]
    assert problems_of(found) == [
        "line 2: too many fields",
        "line 4: too many fields",
        "line 7: too few fields",
        "line 8: too many fields",
        "line 9: too few fields",
    ]


def test_a_line_that_is_no_text_of_the_files_coding_is_told(write: Write) -> None:
    """One broken byte costs one line."""
    good = csv_text(ROWS[:3]).encode("cp949").split(b"\n")
    good[2] = good[2][:-1] + b"\xff"
    found = pages(write(b"\n".join(good)))
    assert rows_of(found) == [ROWS[0], ROWS[2]]
    assert problems_of(found) == ["line 3: not text in cp949"]


@pytest.mark.parametrize("kept", [0, 1, 2])
@pytest.mark.parametrize("codec", ["cp949", "utf-8-sig"])
def test_a_last_field_that_is_only_the_beginning_of_its_providers_name_is_told(
    write: Write, kept: int, codec: str
) -> None:
    """R49: the portal's file ends without a line end, so only the row can tell that it is cut."""
    rows = [library_row(number, provider_name="강동구청") for number in (1, 2, 251)]
    whole = csv_text(rows).removesuffix("\n")
    assert rows_of(pages(write(whole, codec))) == rows
    found = pages(write(whole[: kept - 4], codec), chunk_rows=1)
    assert rows_of(found) == rows[:2]
    assert problems_of(found) == ["line 4: cut off in its last field"]
    assert len(rows_of(pages(write(whole[: kept - 4] + "\n", codec)))) == 3, "a whole line"


def test_lines_of_nothing_but_space_are_no_lines(write: Write) -> None:
    """Editors leave one at the end."""
    found = pages(write(csv_text(ROWS) + "  \t\r\n \n   "))
    assert (rows_of(found), problems_of(found)) == (ROWS, [])


def test_a_file_of_carriage_returns_alone_is_refused_for_that(write: Write) -> None:
    """Its header is there, so that "columns are missing" would mislead."""
    with pytest.raises(NotALibraryCsv) as refused:
        pages(write(csv_text(ROWS, end="\r"), "cp949"))
    assert "carriage return" in refused.value.detail


def test_a_record_beyond_the_parsers_limit_is_told(write: Write) -> None:
    """pandas would lose the whole chunk with it."""
    huge = line_of(2, closed_days="가" * 140_000)
    found = pages(write("\n".join([HEADER, line_of(1), huge, line_of(3), huge])))
    assert [row["도서관명"] for row in rows_of(found)] == ["작은도서관 1", "작은도서관 3"]
    assert problems_of(found) == ["line 3: too long", "line 5: too long"]


def test_a_stray_quote_costs_its_own_line(write: Write) -> None:
    """One that never closes, and one that encloses half a field; what follows is read on."""
    half = line_of(2, closed_days="월").replace(",월,", ',"월"요일,')
    never = line_of(4, closed_days="월").replace(",월,", ',"월,')
    lines = [HEADER, line_of(1), half, line_of(3), never, "", line_of(5), line_of(6)]
    found = pages(write("\n".join(lines)))
    assert [row["도서관명"] for row in rows_of(found)] == [f"작은도서관 {n}" for n in (1, 3, 5, 6)]
    assert problems_of(found) == ["line 3: stray quotes", "line 5: stray quotes"]


def test_a_stray_quote_far_from_the_end_is_given_up_soon(write: Write) -> None:
    """It must not swallow the file into memory."""
    never = line_of(0, closed_days="월").replace(",월,", ',"월,')
    rows = library_rows(range(1, 900))
    found = pages(write(f"{HEADER}\n{never}\n" + csv_text(rows).split("\n", 1)[1]), 100)
    assert rows_of(found) == rows
    assert problems_of(found) == ["line 2: stray quotes"]


def test_no_record_vanishes_between_the_file_and_its_rows(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R49: a parser that drops one must not make a library look gone."""
    whole = CsvSnapshot._frames

    def dropping(*arguments: Any) -> Iterator[Any]:
        for frame in whole(*arguments):
            yield frame.iloc[1:]

    monkeypatch.setattr(CsvSnapshot, "_frames", dropping)
    with pytest.raises(NotALibraryCsv):
        pages(write(csv_text(ROWS)))


REFUSED: dict[str, bytes] = {
    "empty": b"",
    "binary": bytes(range(256)) * 40,
    "html": "<!DOCTYPE html>\n<html><body>점검 중입니다</body></html>".encode(),
    "json": b'{"response":{"header":{"resultCode":"22"}}}',
    "other header": "도서관명,시도명\n가,나\n".encode("cp949"),
    "one column missing": csv_text(ROWS[:1], COLUMNS[:-1]).encode(),
    "a column twice": csv_text(ROWS[:1], [*COLUMNS, COLUMNS[0]]).encode(),
    "another separator": csv_text(ROWS).replace(",", ";").encode(),
    "utf-16": csv_text(ROWS).encode("utf-16"),
    "no header": csv_text(ROWS).split("\n", 1)[1].encode(),
    "one endless line": b"a" * (csv_lines.LONGEST_LINE_BYTES + 1),
    "an endless line below": f"{HEADER}\n".encode() + b"a" * (csv_lines.LONGEST_LINE_BYTES + 1),
}


@pytest.mark.parametrize("content", REFUSED.values(), ids=REFUSED.keys())
def test_a_file_that_is_not_such_a_csv_is_refused(write: Write, content: bytes) -> None:
    """One typed error with a sentence."""
    with pytest.raises(NotALibraryCsv) as refused:
        pages(write(content))
    assert refused.value.kind is LibraryFailure.BAD_ANSWER
    assert len(refused.value.detail) < 250


def test_the_refusal_names_the_missing_columns(write: Write) -> None:
    """So that an operator sees at once what the portal renamed."""
    with pytest.raises(NotALibraryCsv) as refused:
        pages(write(csv_text(ROWS, COLUMNS[2:]), "cp949"))
    assert "2 of 28 columns are missing: 도서관명, 시도명" in refused.value.detail


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """A directory, a missing file, a pipe that would never end, a link to itself."""
    pipe, loop = tmp_path / "pipe", tmp_path / "loop"
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    for path in (tmp_path, tmp_path / "missing.csv", pipe, loop, Path()):
        with pytest.raises(CsvNotReadable) as refused:
            pages(path)
        assert refused.value.kind is LibraryFailure.CONFIGURATION
        assert str(tmp_path) not in refused.value.detail


def test_an_unreadable_file_is_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests may run as root, whom no permission stops."""

    def denied(*_args: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(csv_text(ROWS))
    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(CsvNotReadable) as refused:
        pages(path)
    assert refused.value.detail == "libraries.csv cannot be read: Permission denied"


@pytest.fixture
def world(store: Store) -> LibraryWorld:
    """A register of 25 libraries and ten that only the API knows."""
    made = LibraryWorld(store)
    made.load(library_rows(range(30)))
    return made


def test_a_good_file_goes_the_same_way_as_the_api(world: LibraryWorld, write: Write) -> None:
    """The same service, lock and checks; stale rows go, its end is its proof."""
    report = world.ingest(CsvSnapshot(write(csv_text(ROWS[1:]), "cp949")), allow_shrink=True)
    assert (report.status, report.reason) == ("SUCCESS", None)
    assert (report.fetched, report.changed, report.deactivated) == (24, 0, 6)
    last = world.runs()[-1]
    assert (last["source"], last["stated_total"], last["left_out_count"]) == ("csv", None, 0)
    small = world.ingest(CsvSnapshot(write(csv_text(ROWS[:3]))))
    assert (small.status, world.active()) == ("FAILED", 24)


def test_keys_repeated_far_apart_in_a_file_are_its_own(world: LibraryWorld, write: Write) -> None:
    """R49: a file stands still, so no second reading; the last row wins, and nothing is stale:
    the repeated line may stand in another's place."""
    rows = [*library_rows(range(1, 110)), library_row(1, edition=1)]
    snapshot = CsvSnapshot(write(csv_text(rows)), chunk_rows=4)
    with patch.object(snapshot, "read", wraps=snapshot.read) as reading:
        report = world.ingest(snapshot)
    assert (report.status, report.duplicates, report.changed) == ("SUCCESS", 1, 1)
    assert (report.deactivated, reading.call_count, world.active()) == (0, 1, 110)
    assert report.reason == "repeated rows: 1; so no row was deactivated"


def test_a_file_whose_lines_stand_there_twice_changes_nothing(
    world: LibraryWorld, write: Write
) -> None:
    """R49: as many lines as there are libraries, and a fifth of them missing."""
    before = world.register()
    rows = [*library_rows(range(25)), *library_rows(range(5), edition=1)]
    report = world.ingest(CsvSnapshot(write(csv_text(rows))), allow_shrink=True)
    assert (report.status, report.duplicates) == ("FAILED", 5)
    assert report.reason is not None and report.reason.startswith("incomplete: repeated rows: 5; ")
    assert world.register() == before


def test_lines_left_out_keep_every_stale_row_active(world: LibraryWorld, write: Write) -> None:
    """R49: the left-out line may be any library; everything else is stored, and the run says so."""
    rows = [library_row(0, edition=1), *library_rows(range(1, 27))]
    text = csv_text(rows) + "too,few\n" + line_of(28) + ",more\n"
    report = world.ingest(CsvSnapshot(write(text)))
    assert (report.status, report.changed, report.deactivated) == ("SUCCESS", 1, 0)
    assert report.reason == "lines left out: 2; so no row was deactivated"
    assert report.problems == ("line 29: too few fields", "line 30: too many fields")
    assert (report.fetched, report.left_out, world.active()) == (27, 2, 30)
    last = world.runs()[-1]
    assert (last["reason"], last["left_out_count"]) == (report.reason, 2)


def test_a_file_that_is_not_such_a_csv_changes_nothing(world: LibraryWorld, write: Write) -> None:
    """FAILED with its reason, whatever is allowed; a missing file too."""
    before = world.register()
    refused = [(content, LibraryFailure.BAD_ANSWER) for content in REFUSED.values()]
    for content, kind in [*refused, (None, LibraryFailure.CONFIGURATION)]:
        path = write(content) if content is not None else Path("missing.csv")
        report = world.ingest(CsvSnapshot(path), allow_shrink=True)
        assert (report.status, report.failure_kind) == ("FAILED", kind)
        assert report.reason is not None and report.reason.startswith("unreadable")
        assert report.retry_later is False
    assert world.register() == before


def test_a_header_alone_is_an_empty_snapshot(world: LibraryWorld, write: Write) -> None:
    """R49: also where every line was left out."""
    before = world.register()
    for text in (HEADER, f"{HEADER}\n\n", f"{HEADER}\nx\ny\n"):
        report = world.ingest(CsvSnapshot(write(text)), allow_shrink=True)
        assert report.status == "FAILED" and report.reason is not None
        assert report.reason.startswith("empty")
    assert world.register() == before


def test_the_assembled_service_reads_the_configured_file(store: Store, write: Write) -> None:
    """R46: one model chooses the source."""
    config = IngestConfig(source="csv", file=str(write(csv_text(ROWS), "cp949")))
    ingestion = assemble_ingest(load_settings({}), store.url)
    report = ingestion.service.run(config, ingestion.snapshot(config), trigger="manual")
    ingestion.close()
    assert (report.status, report.added) == ("SUCCESS", 25)
    with pytest.raises(ValueError, match="asked for library"):
        library = IngestConfig(source="library")
        ingestion.service.run(library, ingestion.snapshot(config), trigger="manual")
