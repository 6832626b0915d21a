"""Searches for secrets wherever a program leaves something: the judge of R29 and I9.

Invariant: a secret is found in every form in which a program passes text on: raw, cut down to its
longest word, percent-encoded up to three times, JSON- or HTML-escaped, base64 at any offset, hex,
in any letter case. It knows nothing of the program's own redaction. A place that could not be
looked at, or in which nothing was, is an error and not a silence.
"""

import html
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

import httpx
from sqlalchemy import NullPool, create_engine, text

from collection_pipeline.store.connection import collection_url

SHORTEST_WORD_CHARS = 8
TIMES_ENCODED = 3


@dataclass(frozen=True)
class Leak:
    """Where a secret stands and in which form; never the secret."""

    place: str
    secret: str
    form: str

    def __str__(self) -> str:
        return f"I9: {self.secret} stands in {self.place}, {self.form}"


class LeakSearch:
    """Looks for ``secrets`` (values by the name that a finding calls them)."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        assert secrets and all(secrets.values()), "an empty secret is found everywhere"
        self._forms = [
            (name, form, spelt.lower())
            for name, value in secrets.items()
            for form, spelt in forms_of(value)
        ]
        self.looked_at = 0

    def in_text(self, place: str, shown: object) -> list[Leak]:
        """Leaks in one text, or in what ``str`` makes of any other value."""
        self.looked_at += 1
        written = shown.decode("utf-8", "replace") if isinstance(shown, bytes) else str(shown)
        folded = written.lower()
        return [Leak(place, name, form) for name, form, spelt in self._forms if spelt in folded]

    def in_database(self, url: str) -> list[Leak]:
        """Leaks in any column of any table that the account of ``url`` sees in its database."""
        name = url.rsplit("/", 1)[1].split("?", 1)[0]
        return [
            leak
            for place, value in every_value(url)
            for leak in self.in_text(f"{name}.{place}", value)
        ]

    def in_folder(self, folder: Path, spared: Sequence[Path] = ()) -> list[Leak]:
        """Leaks in the names and the bytes of all files below; ``spared`` may hold secrets."""
        assert folder.is_dir(), f"no such folder: {folder}"
        return [
            leak
            for file in sorted(folder.rglob("*"))
            if not any(file.is_relative_to(one) for one in spared)
            for leak in (
                *self.in_text(f"the name {file.name}", str(file.relative_to(folder))),
                *(self.in_text(str(file), file.read_bytes()) if file.is_file() else ()),
            )
        ]

    def in_process(self, pid: int) -> list[Leak]:
        """Leaks in what every user of the machine can read of a process: its title and threads."""
        process = Path(f"/proc/{pid}")
        titles = [process / "cmdline", *process.glob("task/*/comm")]
        shown = {str(file): file.read_bytes() for file in titles}
        assert shown[str(titles[0])], f"process {pid} has ended, or has not begun"
        return [leak for place, title in shown.items() for leak in self.in_text(place, title)]

    def in_answer(self, answer: httpx.Response) -> list[Leak]:
        """Leaks in status line, headers and body of one answer."""
        place = f"{answer.request.method} {answer.request.url.path}: {answer.status_code}"
        return [
            *self.in_text(f"{place}, headers", dict(answer.headers)),
            *self.in_text(place, answer.content),
        ]


def assert_no_secret(
    secrets: Mapping[str, str],
    *,
    databases: Iterable[str] = (),
    folders: Iterable[Path] = (),
    spared: Sequence[Path] = (),
    texts: Mapping[str, object] | None = None,
    answers: Iterable[httpx.Response] = (),
    pids: Iterable[int] = (),
) -> int:
    """Fails with every finding in the named places; the number of values that were looked at.

    ``texts`` are logs and outputs by the name of their place; ``spared`` are files that hold a
    secret by right (a key file, a private server's state).
    """
    search = LeakSearch(secrets)
    places: list[tuple[str, Iterator[list[Leak]]]] = [
        *((f"database {n}", iter([search.in_database(url)])) for n, url in enumerate(databases)),
        *((str(one), iter([search.in_folder(one, spared)])) for one in folders),
        *((name, iter([search.in_text(name, shown)])) for name, shown in (texts or {}).items()),
        *((str(one.request.url), iter([search.in_answer(one)])) for one in answers),
        *((f"process {pid}", iter([search.in_process(pid)])) for pid in pids),
    ]
    found = [leak for _, leaks in places for group in leaks for leak in group]
    assert search.looked_at, "nothing was looked at"
    assert not found, "\n".join(sorted(set(map(str, found))))
    return search.looked_at


def forms_of(secret: str) -> list[tuple[str, str]]:
    """Every form in which a secret must not come back, with its name."""
    forms = [("raw", secret), *_encoded(secret)]
    forms += [
        ("JSON-escaped", json.dumps(secret)[1:-1]),
        ("JSON-escaped with slashes", json.dumps(secret)[1:-1].replace("/", "\\/")),
        ("HTML-escaped", html.escape(secret)),
        ("as Python shows it", repr(secret)[1:-1]),
        ("hex", secret.encode().hex()),
        ("every byte percent-encoded", "".join(f"%{byte:02X}" for byte in secret.encode())),
    ]
    forms += [(f"base64 at offset {n}", form) for n, form in enumerate(_base64(secret))]
    word = max(re.findall("[A-Za-z0-9]*", secret), key=len)
    if len(word) >= SHORTEST_WORD_CHARS:
        forms.append(("cut to its longest word", word))
        forms += [(f"its longest word in base64, {n}", f) for n, f in enumerate(_base64(word))]
    return list({spelt: (name, spelt) for name, spelt in reversed(forms)}.values())[::-1]


def every_value(url: str) -> Iterator[tuple[str, object]]:
    """Every value of every column of a database, with its place; empty ones left out."""
    engine = create_engine(collection_url(url), poolclass=NullPool)
    with engine.connect() as connection:
        tables = connection.execute(
            text("SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()")
        ).scalars()
        for table in tables.all():
            for row in connection.execute(text(f"SELECT * FROM `{table}`")).mappings():
                for column, value in row.items():
                    if value is not None:
                        yield f"{table}.{column}", value


def _encoded(secret: str) -> Iterator[tuple[str, str]]:
    for name, encode in (("percent", quote), ("form", quote_plus), ("strictly", _strictly)):
        spelt = secret
        for times in range(1, TIMES_ENCODED + 1):
            spelt = encode(spelt)
            yield f"{name}-encoded {times} times", spelt


def _strictly(given: str) -> str:
    return quote(given, safe="")


def _base64(secret: str) -> Iterator[str]:
    """What stays of it in any longer text that was encoded: 3 offsets, 2 alphabets."""
    for encode in (b64encode, urlsafe_b64encode):
        for offset in range(3):
            given = b"\0" * offset + secret.encode()
            whole = given[: len(given) // 3 * 3]
            yield encode(whole).decode()[(0, 2, 3)[offset] :]
