"""Registering sources: checked against their platform, all of a batch or none (R2, R23b)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from collection_pipeline.collection.assembly import CollectionPipeline
from collection_pipeline.domain.budget import InvalidBudget
from collection_pipeline.domain.source import (
    BudgetOverrides,
    Condition,
    DetailMode,
    JobSource,
    Platform,
    source_type_of,
)
from collection_pipeline.platforms.contract import MissingCredential
from collection_pipeline.platforms.gateway import BadDescriptor, PlatformGateway
from collection_pipeline.settings import NUMBERS
from collection_pipeline.store.companies import Companies
from collection_pipeline.store.sources import JobSources

LABEL_MAX_CHARS = 200
COMPANY_MAX_CHARS = 255
NUMBER_FIELDS = {
    "daily_list_pages": "DAILY_MAX_LIST_PAGES",
    "daily_postings": "DAILY_MAX_POSTINGS",
    "daily_detail_requests": "DAILY_MAX_DETAIL_REQUESTS",
    "min_delay_ms": "HOST_MIN_DELAY_MS",
}
FIELDS = ("platform", "label", "condition", "company", "detail_mode", *NUMBER_FIELDS)
_HIGHEST = {number.name: number.highest for number in NUMBERS}


class BadSourceRows(ValueError):
    """Rows that cannot become sources; nothing was stored."""

    def __init__(self, problems: Iterable[str]) -> None:
        super().__init__("; ".join(problems))


@dataclass(frozen=True)
class NewSource:
    """A checked source, and the name of the company that a board belongs to."""

    source: JobSource
    company: str | None


def checked_source(row: Mapping[str, Any], gateway: PlatformGateway) -> NewSource:
    """The source that ``row`` describes; raises ``BadSourceRows`` with one sentence."""
    unknown = sorted(set(row) - set(FIELDS))
    if unknown:
        raise BadSourceRows([f"unknown field {unknown[0]!r}; the fields are {', '.join(FIELDS)}"])
    platform = _text(row, "platform")
    try:
        gateway.adapter_of(platform).check(_condition(row.get("condition")))
    except MissingCredential:
        pass  # the key belongs to the workers' environment, not to whoever registers sources
    except BadDescriptor as error:
        raise BadSourceRows([str(error)]) from None
    source = JobSource(
        id=0,
        platform=platform,
        source_type=source_type_of(Platform(platform)),
        label=_text(row, "label", LABEL_MAX_CHARS),
        condition=_condition(row.get("condition")),
        detail_mode=_detail_mode(row.get("detail_mode")),
        overrides=_overrides(row),
    )
    company = row.get("company")
    if company is None or str(company).strip() == "":
        return NewSource(source, None)
    return NewSource(source, _text(row, "company", COMPANY_MAX_CHARS))


def parsed_condition(pairs: Iterable[str]) -> Condition:
    """``KEY=VALUE`` pairs; a repeated key keeps every value in order."""
    condition: Condition = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.strip():
            raise BadSourceRows([f"condition {pair!r}: write KEY=VALUE"])
        condition.setdefault(key.strip(), []).append(value.strip())
    return condition


def checked_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]], gateway: PlatformGateway
) -> list[NewSource]:
    """Every row as a source; raises ``BadSourceRows`` that names each bad line."""
    good: list[NewSource] = []
    problems: list[str] = []
    for line, row in rows:
        try:
            good.append(checked_source(row, gateway))
        except (BadSourceRows, InvalidBudget) as error:
            problems.append(f"line {line}: {error}")
    if problems:
        raise BadSourceRows(problems)
    return good


def store_sources(pipeline: CollectionPipeline, new_sources: Sequence[NewSource]) -> list[int]:
    """Store checked sources in one transaction; returns their ids in order."""

    def storing(connection: Connection) -> list[int]:
        now = pipeline.clock.now(connection)
        names = sorted({new.company for new in new_sources if new.company})
        companies = Companies()
        companies.register(connection, names, now)
        ids = companies.find(connection, names)
        return [
            JobSources().add(
                connection,
                replace(new.source, company_id=ids[new.company] if new.company else None),
                now,
            )
            for new in new_sources
        ]

    return pipeline.transactions.run(storing)


def _condition(given: object) -> Condition:
    if given is None:
        return {}
    if isinstance(given, list) and all(isinstance(pair, str) for pair in given):
        return parsed_condition(given)
    if isinstance(given, dict):
        return {str(key): _values(key, value) for key, value in given.items()}
    raise BadSourceRows(["condition: write an object of keys and values, or KEY=VALUE pairs"])


def _values(key: object, value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int) and not isinstance(one, bool) for one in values):
        raise BadSourceRows([f"condition {key}: write text, a number, or a list of them"])
    return [str(one) for one in values]


def _text(row: Mapping[str, Any], name: str, longest: int = 100) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadSourceRows([f"{name} is missing"])
    if len(value.strip()) > longest:
        raise BadSourceRows([f"{name} is longer than {longest} characters"])
    if not value.strip().isprintable():
        raise BadSourceRows([f"{name} has control characters or broken ones"])
    return value.strip()


def _detail_mode(given: object) -> DetailMode:
    if given is None:
        return DetailMode.REQUIRED
    try:
        return DetailMode(str(given).strip())
    except ValueError:
        modes = ", ".join(DetailMode)
        raise BadSourceRows([f"detail_mode {given!r}: write one of {modes}"]) from None


def _overrides(row: Mapping[str, Any]) -> BudgetOverrides:
    numbers = {name: _number(row, name) for name in NUMBER_FIELDS}
    return BudgetOverrides(
        numbers["daily_list_pages"],
        numbers["daily_postings"],
        numbers["daily_detail_requests"],
        numbers["min_delay_ms"],
    )


def _number(row: Mapping[str, Any], name: str) -> int | None:
    given = row.get(name)
    if given is None:
        return None
    highest = _HIGHEST[NUMBER_FIELDS[name]]
    text = str(given).strip()
    if isinstance(given, bool) or not text.isdecimal() or not 1 <= int(text) <= highest:
        raise BadSourceRows([f"{name}={given!r}: write a whole number from 1 to {highest}"])
    return int(text)
