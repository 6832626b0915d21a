"""Where deploy files name secrets: by files, never by value (R29)."""

import re
from collections.abc import Iterator, Mapping

from collection_pipeline.settings import PREFIX, SECRET_NAMES

NAMES = frozenset(PREFIX + name for name in (*SECRET_NAMES, "DATABASE_URL", "DAGSTER_DATABASE_URL"))
"""Every variable of the project whose value is secret."""
ADDRESSES = frozenset({f"{PREFIX}DATABASE_URL_FILE", f"{PREFIX}DAGSTER_DATABASE_URL_FILE"})
_LOOKS_SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY$")


def value_faults(environment: Mapping[str, object]) -> Iterator[str]:
    """Variables that hold a secret instead of naming its file."""
    for name in environment:
        if name in NAMES or (_LOOKS_SECRET.search(name) and not name.endswith("_FILE")):
            yield f"{name} holds its value"


def file_faults(
    environment: Mapping[str, object], folder: str, files: frozenset[str]
) -> Iterator[str]:
    """Variables that name no file of ``folder``, or one that the process has not got."""
    for name, place in environment.items():
        if name.endswith("_FILE"):
            base, _, file = str(place).rpartition("/")
            if base != folder or file not in files:
                yield f"{name} names {place}"


def literal_faults(text: str) -> Iterator[str]:
    """Passwords inside of addresses."""
    for address in re.findall(r"\w+://[^\s/:@]+:[^\s@]+@", text):
        if "%s@" not in address:
            yield f"an address with its password: {address.split('://')[0]}://"
