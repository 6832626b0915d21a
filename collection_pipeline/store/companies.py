"""Companies: found by normalised name or alias, registered when new (R25)."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.mysql import insert

from collection_pipeline.store.schema.sources import companies, company_aliases

_LEGAL_FORMS = re.compile(
    r"\(주\)|㈜|주식회사|\(유\)|유한회사|\(재\)|\(사\)|유한책임회사|"
    r"\b(?:co\.?,?\s*ltd\.?|corp\.?|inc\.?|ltd\.?|llc)(?=\W|$)",
    re.IGNORECASE,
)
_SPACES = re.compile(r"[\s\u200b\ufeff]+")
NAME_MAX_CHARS = 255


def normalised_company_name(name: str) -> str:
    """One form for the ways a company is written: NFKC, lower case, no legal form, no spaces.

    A name that is nothing but a legal form stays as it is.
    """
    plain = unicodedata.normalize("NFKC", name).replace("㈜", "")
    stripped = _LEGAL_FORMS.sub(" ", plain)
    folded = _SPACES.sub("", stripped).casefold().strip(".,·")
    return (folded or _SPACES.sub("", plain).casefold())[:NAME_MAX_CHARS]


class Companies:
    """Finds and registers companies on a connection of the caller's transaction."""

    def find(self, connection: Connection, names: Iterable[str]) -> dict[str, int]:
        """Ids of the names that are known, by the name as it was given."""
        keys = {name: normalised_company_name(name) for name in names}
        wanted = sorted(set(keys.values()) - {""})
        if not wanted:
            return {}
        found: dict[str, int] = {}
        for table, id_column in (
            (company_aliases, company_aliases.c.company_id),
            (companies, companies.c.id),
        ):
            rows = connection.execute(
                select(table.c.normalised_name, id_column).where(
                    table.c.normalised_name.in_(wanted)
                )
            )
            found.update({row[0]: row[1] for row in rows})
        return {name: found[key] for name, key in keys.items() if key in found}

    def register(self, connection: Connection, names: Iterable[str], now: datetime) -> None:
        """Insert the names that are new, sorted by key; names known by now are left alone."""
        by_key = {normalised_company_name(name): name for name in names}
        rows = [
            {
                "normalised_name": key,
                "display_name": by_key[key].strip()[:NAME_MAX_CHARS],
                "created_at": now,
            }
            for key in sorted(by_key)
            if key
        ]
        if not rows:
            return
        statement = insert(companies).values(rows)
        connection.execute(
            statement.on_duplicate_key_update(normalised_name=statement.inserted.normalised_name)
        )
