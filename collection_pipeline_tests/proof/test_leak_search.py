"""The search for secrets can fail: each form in each place is found, and nothing else is (I9)."""

import base64
import html
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import httpx
import pytest

from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.leak_search import LeakSearch, assert_no_secret

KEY = "Qk7+ab/cd=ef%41 gh&ij\"kl<mn>'op\\한"
WORDY = "pl4ntedSEARCHword+/=="
SECRETS = {"the key": KEY, "the wordy key": WORDY}
WRITERS: dict[str, Callable[[str], str]] = {
    "raw": str,
    "in capitals": str.upper,
    "percent": quote,
    "form": quote_plus,
    "strict": lambda s: quote(s, safe=""),
    "strict, lower case": lambda s: quote(s, safe="").lower(),
    "double": lambda s: quote(quote(s, safe=""), safe=""),
    "double, lower case": lambda s: quote(quote(s, safe="").lower(), safe="").lower(),
    "triple": lambda s: quote(quote(quote(s, safe=""), safe=""), safe=""),
    "JSON": lambda s: json.dumps({"k": s}),
    "JSON with slashes": lambda s: json.dumps({"k": s}).replace("/", "\\/"),
    "HTML": html.escape,
    "a record": lambda s: str({"k": s}),
    "hex": lambda s: s.encode().hex(),
    "all percent": lambda s: "".join(f"%{byte:02x}" for byte in s.encode()),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64, one off": lambda s: base64.b64encode(f"u{s}".encode()).decode(),
    "base64, two off": lambda s: base64.b64encode(f"u:{s}".encode()).decode(),
    "base64 for addresses": lambda s: base64.urlsafe_b64encode(f"u:{s}:u".encode()).decode(),
}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("writer", WRITERS)
def test_every_form_of_a_secret_is_found(writer: str, secret: str) -> None:
    """R29: whatever a program made of it on the way."""
    text = f"GET /x?k={WRITERS[writer](SECRETS[secret])}&n=1"
    assert {leak.secret for leak in LeakSearch(SECRETS).in_text("log", text)} == {secret}


def test_a_secret_that_was_cut_is_found_by_its_longest_word() -> None:
    """R29: a column may hold 20 characters of it."""
    for cut in (WORDY[:17], quote(WORDY)[:17], f"{WORDY[:17]}..."):
        assert LeakSearch(SECRETS).in_text("log", cut)


@pytest.mark.parametrize("text", ["", "nothing", "[redacted]", "access-key=%5Bredacted%5D", "Qk7"])
def test_nothing_else_is_found(text: str) -> None:
    """A search that always found something would be switched off."""
    assert LeakSearch(SECRETS).in_text("log", text) == []


@pytest.mark.parametrize("encoding", ["raw", "double", "base64"])
def test_a_secret_in_any_column_is_found(store: Store, encoding: str) -> None:
    """I9: texts, documents and blobs of every table."""
    source = store.add_source()
    store.add_cycle(source)
    planted = WRITERS[encoding](WORDY)
    assert LeakSearch(SECRETS).in_database(store.url) == []
    for table, column in (
        ("job_sources", "label"),
        ("job_posting_collection_cycles", "failure_detail"),
        ("job_posting_collection_cycles", "continuation_cursor"),
    ):
        store.write(f"UPDATE {table} SET {column} = :planted", planted=planted)
        leaks = LeakSearch(SECRETS).in_database(store.url)
        assert any(leak.place.endswith(f"{table}.{column}") for leak in leaks)
        store.write(f"UPDATE {table} SET {column} = ''")


def test_a_secret_in_a_file_or_in_its_name_is_found(tmp_path: Path) -> None:
    """I9: below DAGSTER_HOME and COLLECTION_HOME, in texts and in other bytes."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "key").write_text(KEY, encoding="utf-8")
    search = LeakSearch(SECRETS)
    assert search.in_folder(tmp_path, [tmp_path / "key"]) == []
    (tmp_path / "deep/log.bin").write_bytes(b"\xff\x00" + quote(WORDY).encode() + b"\xfe")
    assert {leak.secret for leak in search.in_folder(tmp_path, [tmp_path / "key"])} == {
        "the wordy key"
    }
    (tmp_path / "deep/log.bin").rename(tmp_path / f"deep/{WORDY[:17]}")
    assert len({leak.place for leak in search.in_folder(tmp_path / "deep")}) == 2
    assert search.in_folder(tmp_path)
    with pytest.raises(AssertionError):
        search.in_folder(tmp_path / "none")


def test_a_secret_in_a_process_title_is_found() -> None:
    """I9: any user of the machine reads the arguments of every process."""
    program = "import sys; print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, f"--key={WORDY}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        leaks = LeakSearch(SECRETS).in_process(process.pid)
        process.stdin.close()
    assert {leak.secret for leak in leaks} == {"the wordy key"}
    assert LeakSearch(SECRETS).in_process(os.getpid()) == []


def test_a_secret_in_an_answer_is_found() -> None:
    """I9: in a header as in a body."""
    asked = httpx.Request("GET", "http://127.0.0.1/x")
    header = httpx.Response(302, headers={"Location": f"/?k={quote(WORDY)}"}, request=asked)
    body = httpx.Response(500, text=json.dumps(KEY), request=asked)
    clean = httpx.Response(200, text="{}", request=asked)
    search = LeakSearch(SECRETS)
    assert [bool(search.in_answer(one)) for one in (header, body, clean)] == [True, True, False]


def test_the_assertion_names_place_secret_and_form_and_not_the_secret(tmp_path: Path) -> None:
    """R29: the report of a failed search is read by people too."""
    with pytest.raises(AssertionError) as failed:
        assert_no_secret(SECRETS, texts={"the log": quote(WORDY), "the output": "nothing"})
    said = str(failed.value)
    assert "the wordy key stands in the log" in said
    assert WORDY[:17] not in said
    with pytest.raises(AssertionError, match="nothing was looked at"):
        assert_no_secret(SECRETS)
    assert assert_no_secret(SECRETS, texts={"a": "b", "c": "d"}) == 2
