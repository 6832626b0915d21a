"""A scenario: which catalogues exist, how they change, which faults are on from the start.

The JSON form is documented on :func:`parse_scenario`. An unknown member is refused, because a
misspelt one would silently give a different simulation.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from collection_pipeline.simulator.library_rule import (
    LibraryRule,
    LibraryRuleError,
    parse_library_rule,
)
from collection_pipeline.simulator.lifecycle import EVERY_DAY, DayChange

PLATFORMS = ("wanted", "saramin", "jumpit", "greenhouse", "lever")
MAX_COUNT = 60_000
DEFAULT_ACCESS_KEY = "demo-access-key"
NUMBERED_KEY = re.compile(r".+-(\d{1,6})")
WHOLE_BOARD = "all"
JUMPIT_WHOLE_BOARD_COUNT = 724  # what a dropped keyword filter gives


class ScenarioError(ValueError):
    """The scenario is not usable as written."""


@dataclass(frozen=True, slots=True)
class SourceRule:
    """One catalogue: its count on day 1 and what happens to it later."""

    platform: str
    key: str
    count: int
    changes: Mapping[str, DayChange] = field(default_factory=dict)
    eu: bool = False
    closed_rows: int = 0
    boundary_next: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """The whole configuration of a simulator."""

    seed: int = 1
    base_date: date | None = None
    access_key: str = DEFAULT_ACCESS_KEY
    default_count: int | None = None
    wanted_over_limit: str = "cap"
    sources: tuple[SourceRule, ...] = ()
    faults: tuple[Mapping[str, Any], ...] = ()
    library: LibraryRule = field(default_factory=LibraryRule)

    def rule_for(self, platform: str, key: str) -> SourceRule | None:
        """The rule of a catalogue: written down, by the key's number, or the default count."""
        for source in self.sources:
            if source.platform == platform and source.key == key:
                return source
        numbered = NUMBERED_KEY.fullmatch(key)
        if numbered:
            return SourceRule(platform, key, min(int(numbered.group(1)), MAX_COUNT))
        if platform == "jumpit" and key == WHOLE_BOARD:
            return SourceRule(platform, key, JUMPIT_WHOLE_BOARD_COUNT)
        if platform in ("greenhouse", "lever") or self.default_count is None:
            return None
        return SourceRule(platform, key, self.default_count)


def parse_scenario(document: Mapping[str, Any]) -> Scenario:
    """Read the JSON form.

    ``{"seed", "base_date", "access_key", "default_count", "wanted_over_limit": "cap"|"reject",
    "sources": [{"platform", "key", "count", "changes": {"2": {"remove", "add", "edit",
    "restore"}, "*": {...}}, "eu", "closed_rows", "boundary_next"}], "faults": [...],
    "library": {"count", "changes", "envelope", "names", "quota", "service_key"}}``; every
    member is optional but a source's platform, key and count. "*" stands for each later day that
    is not written down. `closed_rows` rows of a Wanted v4 list carry a status that is not active;
    `boundary_next` gives a full last page a next link to an empty page.
    """
    known = {entry.name for entry in fields(Scenario)}
    _refuse_unknown(document, known, "scenario")
    values = dict(document)
    if values.get("base_date") is not None:
        values["base_date"] = date.fromisoformat(values["base_date"])
    if values.get("wanted_over_limit", "cap") not in ("cap", "reject"):
        raise ScenarioError("wanted_over_limit is cap or reject")
    values["sources"] = tuple(_source(entry) for entry in values.get("sources", ()))
    values["library"] = _library(values.get("library", {}))
    values["faults"] = tuple(dict(entry) for entry in values.get("faults", ()))
    return Scenario(**values)


def load_scenario(where: str | Path) -> Scenario:
    """A scenario from a file, or one of the package's own by its bare name (`demo`)."""
    path = Path(where)
    if path.suffix:
        text = path.read_text(encoding="utf-8")
    else:
        packaged = files(__package__) / "scenarios" / f"{where}.json"
        if not packaged.is_file():
            raise ScenarioError(f"no scenario is named {where}")
        text = packaged.read_text(encoding="utf-8")
    return parse_scenario(json.loads(text))


def _source(entry: Mapping[str, Any]) -> SourceRule:
    known = {item.name for item in fields(SourceRule)}
    _refuse_unknown(entry, known, "source")
    values = dict(entry)
    if values.get("platform") not in PLATFORMS:
        raise ScenarioError(f"platform is one of {', '.join(PLATFORMS)}")
    if not isinstance(values.get("count"), int) or not 0 <= values["count"] <= MAX_COUNT:
        raise ScenarioError(f"count is a whole number up to {MAX_COUNT}")
    values["key"] = str(values["key"])
    values["changes"] = {
        day: DayChange(**change) for day, change in values.get("changes", {}).items()
    }
    for day in values["changes"]:
        if day != EVERY_DAY and not (day.isdigit() and int(day) > 1):
            raise ScenarioError('a change is of day "2" or later, or of "*"')
    return SourceRule(**values)


def _library(document: Mapping[str, Any]) -> LibraryRule:
    try:
        return parse_library_rule(document)
    except LibraryRuleError as error:
        raise ScenarioError(str(error)) from None


def _refuse_unknown(entry: Mapping[str, Any], known: set[str], what: str) -> None:
    unknown = set(entry) - known
    if unknown:
        raise ScenarioError(f"unknown member of a {what}: {', '.join(sorted(unknown))}")
