"""What a scenario says of the library register."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from collection_pipeline.simulator.library_columns import NAME_SETS
from collection_pipeline.simulator.lifecycle import EVERY_DAY, DayChange

LIBRARY = "library"
ENVELOPES = ("bare", "wrapped")
MOST_ROWS = 1_000_000
DEFAULT_ROWS = 3_601  # the register's size in September 2026
DEFAULT_QUOTA = 1_000  # calls a day of a development account
DEFAULT_SERVICE_KEY = "demo/library+service+key=="


class LibraryRuleError(ValueError):
    """The library's part of a scenario is not usable as written."""


@dataclass(frozen=True, slots=True)
class LibraryRule:
    """The register: rows on day 1, what happens later, and the form of its answers.

    `envelope` is `bare` (2026) or `wrapped` (before); `quota` counts accepted calls of a run date.
    """

    count: int = DEFAULT_ROWS
    changes: Mapping[str, DayChange] = field(default_factory=dict)
    envelope: str = ENVELOPES[0]
    names: str = "english"
    quota: int = DEFAULT_QUOTA
    service_key: str = field(default=DEFAULT_SERVICE_KEY, repr=False)


def parse_library_rule(document: Mapping[str, Any]) -> LibraryRule:
    """Read the JSON form, whose members are the fields of :class:`LibraryRule`; all optional."""
    unknown = set(document) - {entry.name for entry in fields(LibraryRule)}
    if unknown:
        raise LibraryRuleError(f"unknown member of the library: {', '.join(sorted(unknown))}")
    values = dict(document)
    for name, lowest in (("count", 0), ("quota", 1)):
        given = values.get(name, lowest)
        if not isinstance(given, int) or not lowest <= given <= MOST_ROWS:
            raise LibraryRuleError(f"{name} is a whole number from {lowest} to {MOST_ROWS}")
    for name, choices in (("envelope", ENVELOPES), ("names", tuple(NAME_SETS))):
        if values.get(name, choices[0]) not in choices:
            raise LibraryRuleError(f"{name} is one of {', '.join(choices)}")
    values["changes"] = {
        day: DayChange(**change) for day, change in values.get("changes", {}).items()
    }
    for day in values["changes"]:
        if day != EVERY_DAY and not (day.isdigit() and int(day) > 1):
            raise LibraryRuleError('a change is of day "2" or later, or of "*"')
    return LibraryRule(**values)
