"""What the checks of deploy files share: a rule is a name and a function that says what is off."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Subject = TypeVar("Subject")

LIBRARY_COMMAND = ["ingest", "--source", "library", "--deactivate-stale", "--trigger", "external"]
SECRETS = frozenset({"COLLECTION_DATABASE_URL", "COLLECTION_LIBRARY_SERVICE_KEY"})
UNREADABLE = "the file can be read"


@dataclass(frozen=True)
class Fault:
    """One broken rule, with what broke it."""

    rule: str
    detail: str


def broken_rules(
    rules: Mapping[str, Callable[[Subject], Iterable[str]]], subject: Subject
) -> list[Fault]:
    """Asks every rule; a rule that cannot find its place in the file is broken too."""
    found = []
    for name, rule in rules.items():
        try:
            found += [Fault(name, detail) for detail in rule(subject)]
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as missing:
            found.append(Fault(name, f"not found: {missing!r}"))
    return found
