"""``sources``: what is registered is checked first, all of a file or nothing (R2, R23b)."""

import json
from pathlib import Path
from typing import Any

import pytest

from collection_pipeline_tests.kit.command_line import CommandLine

BOARD = ("--platform", "greenhouse", "--label", "a board", "--condition", "board=demo")
GOOD_ROWS: list[dict[str, Any]] = [
    {"platform": "greenhouse", "label": "한글 보드", "condition": {"board": "demo"}},
    {
        "platform": "wanted",
        "label": "two places",
        "condition": ["form=v4", "tag_type_ids=518", "locations=seoul.all", "locations=busan.all"],
        "detail_mode": "best_effort",
        "daily_list_pages": 7,
    },
]
CSV_HEADER = "platform,label,condition,company,detail_mode,daily_list_pages\n"


def _listed(cli: CommandLine) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = cli("sources", "list", "--json").json
    return rows


def test_adding_a_source_prints_its_id_in_the_documented_shape(cli: CommandLine) -> None:
    """Spec section 3: `sources add --json` is {"id": n}; without --json the bare number."""
    made = cli("sources", "add", *BOARD, "--json").json
    plain = cli("sources", "add", *BOARD)
    assert list(made) == ["id"]
    assert [row["id"] for row in _listed(cli)] == [made["id"], int(plain.out)]


def test_a_source_is_stored_as_it_was_given(cli: CommandLine) -> None:
    """R9, R22, R26: overrides and detail mode; repeated keys keep every value in order."""
    numbers = ("--daily-list-pages", 3, "--daily-postings", 40, "--daily-detail-requests", 5)
    cli(
        *("sources", "add", "--platform", "wanted", "--label", "원티드 서울"),
        *("--condition", "form=chaos", "--condition", "job_group_id=518"),
        *("--condition", "locations=seoul.all", "--condition", "locations=busan.all"),
        *("--detail-mode", "best_effort", *numbers, "--min-delay-ms", 1500),
    )
    (source,) = _listed(cli)
    assert source.pop("id") > 0
    assert source == {
        "platform": "wanted",
        "source_type": "AGGREGATOR",
        "label": "원티드 서울",
        "condition": {
            "form": ["chaos"],
            "job_group_id": ["518"],
            "locations": ["seoul.all", "busan.all"],
        },
        "company_id": None,
        "active": True,
        "detail_mode": "best_effort",
        "daily_list_pages": 3,
        "daily_postings": 40,
        "daily_detail_requests": 5,
        "min_delay_ms": 1500,
    }


def test_a_boards_company_is_registered_once(cli: CommandLine) -> None:
    """Spec section 7: the normalised name is unique, so two boards of one company share it."""
    cli("sources", "add", *BOARD, "--company", "Demo Corp")
    cli("sources", "add", *BOARD, "--company", "Demo Corp")
    first, second = (row["company_id"] for row in _listed(cli))
    assert first is not None
    assert first == second


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--platform", "monster", "--label", "x"), "monster"),
        (("--platform", "jumpit", "--label", "x", "--condition", "keyword=백엔드 개발"), "space"),
        (("--platform", "wanted", "--label", "x", "--condition", "query=백엔드"), "job_group_id"),
        (("--platform", "wanted", "--label", "x", "--condition", "job_group=5"), "job_group"),
        (("--platform", "jumpit", "--label", "x", "--condition", "size=100"), "size"),
        (("--platform", "saramin", "--label", "x"), "filter"),
        (("--platform", "greenhouse", "--label", "x", "--condition", "board"), "KEY=VALUE"),
        (("--platform", "greenhouse", "--label", "x", "--condition", "board="), "board"),
        (("--platform", "greenhouse", "--label", " ", "--condition", "board=demo"), "label"),
        (("--platform", "greenhouse", "--label", "x" * 201, "--condition", "board=d"), "label"),
        ((*BOARD, "--detail-mode", "sometimes"), "best_effort"),
        ((*BOARD, "--daily-list-pages", "0"), "daily_list_pages"),
        ((*BOARD, "--daily-postings", "-1"), "daily_postings"),
        ((*BOARD, "--daily-detail-requests", "many"), "daily_detail_requests"),
        ((*BOARD, "--min-delay-ms", "3600001"), "min_delay_ms"),
    ],
)
def test_a_bad_source_is_refused_with_one_sentence(
    cli: CommandLine, options: tuple[str, ...], named: str
) -> None:
    """R2, R23b: exit code 2, the sentence says what to write, and nothing is stored."""
    refused = cli("sources", "add", *options)
    assert refused.code == 2
    assert named in refused.sentence
    assert _listed(cli) == []


def test_a_key_is_not_needed_to_register_a_source(cli: CommandLine) -> None:
    """R29: keys belong to the workers; without one a Saramin cycle is refused (R2)."""
    options = ("--platform", "saramin", "--label", "x", "--condition", "keywords=파이썬")
    assert cli("sources", "add", *options).code == 0


@pytest.mark.parametrize("verb", ["enable", "disable"])
def test_switching_an_unknown_source_is_refused(cli: CommandLine, verb: str) -> None:
    """Spec section 3: exit code 2."""
    refused = cli("sources", verb, 4711)
    assert refused.code == 2
    assert "4711" in refused.sentence


def test_a_source_is_switched_off_and_on(cli: CommandLine) -> None:
    """R3: `active` is one part of runnable."""
    source = cli("sources", "add", *BOARD, "--json").json["id"]
    cli("sources", "disable", source)
    assert [row["active"] for row in _listed(cli)] == [False]
    cli("sources", "enable", source)
    assert [row["active"] for row in _listed(cli)] == [True]


def test_the_table_says_what_to_do_where_there_is_no_source(cli: CommandLine) -> None:
    """Spec section 3: a person without --json gets words."""
    assert "sources add" in cli("sources", "list").out


def test_a_json_file_is_imported_whole(cli: CommandLine, tmp_path: Path) -> None:
    """R2: conditions as objects or KEY=VALUE pairs; a byte order mark does no harm."""
    path = tmp_path / "sources.json"
    path.write_text(json.dumps(GOOD_ROWS, ensure_ascii=False), encoding="utf-8-sig")
    ids = cli("sources", "import", path, "--json").json["ids"]
    first, second = _listed(cli)
    assert [first["id"], second["id"]] == ids
    assert (first["label"], first["condition"]) == ("한글 보드", {"board": ["demo"]})
    assert second["condition"]["locations"] == ["seoul.all", "busan.all"]
    assert (second["detail_mode"], second["daily_list_pages"]) == ("best_effort", 7)


def test_a_csv_file_is_imported_whole(cli: CommandLine, tmp_path: Path) -> None:
    """R2: byte order mark, quoted commas and quotes, Windows line ends, empty cells."""
    path = tmp_path / "sources.csv"
    lines = [
        CSV_HEADER.rstrip("\n"),
        'greenhouse,"a ""quoted"", comma board",board=demo,Demo Corp,,',
        "wanted,서울,form=v4&tag_type_ids=518&locations=seoul.all&locations=busan.all,,off,7",
    ]
    path.write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")
    said = cli("sources", "import", path)
    assert (said.code, said.out.strip()) == (0, "imported 2 sources")
    first, second = _listed(cli)
    assert first["label"] == 'a "quoted", comma board'
    assert first["company_id"] is not None
    assert first["daily_list_pages"] is None
    assert second["condition"]["locations"] == ["seoul.all", "busan.all"]
    assert (second["detail_mode"], second["daily_list_pages"]) == ("off", 7)


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_bad_rows_are_named_and_nothing_is_half_imported(
    cli: CommandLine, tmp_path: Path, suffix: str
) -> None:
    """R2, R23b: every bad row is named by its place; the good ones of the file are not stored."""
    path = tmp_path / f"sources.{suffix}"
    rows = [
        ("greenhouse", "good", "board=demo"),
        ("jumpit", "spaced", "keyword=백엔드 개발"),
        ("monster", "unknown", "x=1"),
        ("lever", "good too", "site=demo"),
    ]
    if suffix == "json":
        text = json.dumps(
            [
                dict(zip(("platform", "label"), row[:2], strict=True)) | {"condition": [row[2]]}
                for row in rows
            ]
        )
        bad = ("line 2: ", "line 3: ")
    else:
        text = "platform,label,condition\n" + "".join(",".join(row) + "\n" for row in rows)
        bad = ("line 3: ", "line 4: ")
    path.write_text(text, encoding="utf-8")
    refused = cli("sources", "import", path)
    assert refused.code == 2
    assert all(place in refused.sentence for place in bad)
    assert "line 5" not in refused.sentence
    assert _listed(cli) == []


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("short.csv", CSV_HEADER + "greenhouse,only two\n", "line 2"),
        ("long.csv", CSV_HEADER + "greenhouse,x,board=demo,,,,7,8\n", "line 2"),
        ("column.csv", "platform,label,condition,colour\ngreenhouse,x,board=d,red\n", "colour"),
        ("open.csv", CSV_HEADER + 'greenhouse,"never closed,board=demo,,,\n', "line 2"),
        ("cut.json", '[{"platform": "greenhouse"', "not JSON"),
        ("object.json", '{"platform": "greenhouse"}', "list"),
        ("deep.json", "[" * 100_000, "not JSON"),
        ("nothing.json", "[]", "no source"),
        ("nothing.csv", "", "no source"),
        ("header.csv", CSV_HEADER, "no source"),
        ("text.txt", "greenhouse", ".csv or .json"),
        ("twice.csv", "platform,label,label,condition\ngreenhouse,x,y,board=d\n", "twice"),
        ("half.json", '[{"platform": "greenhouse", "label": "\\ud800"}]', "line 1"),
        ("bell.json", '[{"platform": "greenhouse", "label": "a\\u0007"}]', "line 1"),
        ("texts.json", '["greenhouse"]', "list"),
        ("number.json", '[{"platform": "greenhouse", "label": 5}]', "line 1"),
        (
            "nested.json",
            '[{"platform": "wanted", "label": "x", "condition": {"form": {}}}]',
            "form",
        ),
    ],
)
def test_a_file_that_cannot_be_read_as_rows_is_refused(
    cli: CommandLine, tmp_path: Path, name: str, content: str, named: str
) -> None:
    """R2: wrong field counts, unknown columns, open quotes, broken JSON: exit code 2."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    refused = cli("sources", "import", path)
    assert refused.code == 2
    assert named in refused.sentence
    assert _listed(cli) == []


def test_a_missing_or_foreign_file_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    """Spec section 3: exit code 2; a file that is not UTF-8 could only be guessed at."""
    foreign = tmp_path / "euc-kr.csv"
    foreign.write_bytes("platform,label\ngreenhouse,한글\n".encode("euc-kr"))
    for path, why in (
        (foreign, "UTF-8"),
        (tmp_path / "missing.csv", "No such file"),
        (tmp_path, "Is a directory"),
    ):
        refused = cli("sources", "import", path)
        assert refused.code == 2
        assert why in refused.sentence
