"""The XML form of a Saramin answer, which is what a client without a JSON Accept gets."""

from collections.abc import Mapping
from html import escape
from typing import Any

from collection_pipeline.simulator.catalogue import Row

CODED_POSITION = (
    "location",
    "job-type",
    "industry",
    "job-mid-code",
    "job-code",
    "required-education-level",
)
PLAIN_TAIL = (
    "posting-timestamp",
    "posting-date",
    "modification-timestamp",
    "opening-timestamp",
    "expiration-timestamp",
    "expiration-date",
    "read-cnt",
    "apply-cnt",
)


def jobs_xml(rows: list[Row], start: int, total: int) -> bytes:
    """The whole document for one page."""
    jobs = "".join(_job(row) for row in rows)
    head = f'<jobs count="{len(rows)}" start="{start}" total="{total}">'
    return _document(f"<job-search>{head}{jobs}</jobs></job-search>")


def error_xml(code: int, message: str) -> bytes:
    """The error document."""
    return _document(f"<result><code>{code}</code><message>{escape(message)}</message></result>")


def _document(inner: str) -> bytes:
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{inner}'.encode()


def _job(row: Row) -> str:
    company = row["company"]["detail"]
    href = f' href="{escape(company["href"])}"' if "href" in company else ""
    position = row["position"]
    level = position["experience-level"]
    coded = "".join(_coded(name, position.get(name)) for name in CODED_POSITION)
    parts = [
        f"<id>{row.get('id', '')}</id><url>{_text(row['url'])}</url><active>1</active>",
        f"<company><name{href}>{_text(company['name'])}</name></company>",
        f"<position><title>{_text(position.get('title', ''))}</title>{coded}",
        f'<experience-level code="{level["code"]}" min="{level["min"]}" max="{level["max"]}">',
        f"{_text(level['name'])}</experience-level></position>",
        f"<keyword>{_text(row.get('keyword', ''))}</keyword>",
        _coded("salary", row.get("salary")),
        *(f"<{name}>{row[name]}</{name}>" for name in PLAIN_TAIL if name in row),
        _coded("close-type", row["close-type"]),
    ]
    return f"<job>{''.join(parts)}</job>"


def _coded(name: str, value: Mapping[str, Any] | None) -> str:
    if value is None:
        return ""
    return f'<{name} code="{value["code"]}">{_text(value["name"])}</{name}>'


def _text(value: str) -> str:
    return f"<![CDATA[{value}]]>"
