"""Column types that every table shares (spec section 7).

Ids, signatures and keys compare bytewise (server defaults fold case and trailing spaces into one
key); instants are UTC with microseconds, since 09:00 KST is midnight UTC and a rounded second
would fall on the wrong side of the cutoff.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, text
from sqlalchemy.dialects.mysql import DATETIME, DOUBLE, MEDIUMTEXT, TINYINT, VARCHAR
from sqlalchemy.types import TypeEngine

TABLE_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
    "mysql_row_format": "DYNAMIC",
    "mariadb_row_format": "DYNAMIC",
}

SOURCE_JOB_ID_CHARS = 191

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)


def ascii_text(length: int) -> TypeEngine[str]:
    """A bytewise ASCII word of at most ``length`` characters: states, tokens, hosts, digests."""
    return VARCHAR(length, charset="ascii", collation="ascii_bin")


def key_text(length: int) -> TypeEngine[str]:
    """A bytewise Unicode key of at most ``length`` characters."""
    return String(length, collation="utf8mb4_bin")


def instant(name: str, *, nullable: bool = True, now: bool = False) -> Column:  # type: ignore[type-arg]  # the column's value type is the dialect's
    """A UTC instant with microseconds; ``now`` lets the server fill it in."""
    default = text("CURRENT_TIMESTAMP(6)") if now else None
    return Column(name, DATETIME(fsp=6), nullable=nullable, server_default=default)


def big_id(name: str = "id") -> Column[int]:
    """An auto-increment primary key."""
    return Column(name, BigInteger, primary_key=True, autoincrement=True)


def counter(name: str) -> Column[int]:
    """A count that starts at 0."""
    return Column(name, Integer, nullable=False, server_default=text("0"))


def real_number(name: str, *, nullable: bool = True) -> Column[Any]:
    """A double. Named outright: importing Dagster changes how a plain ``Float`` is compiled."""
    default = None if nullable else text("0")
    return Column(name, DOUBLE(asdecimal=False), nullable=nullable, server_default=default)


def switch(name: str, *, default: bool = False) -> Column[int]:
    """A boolean as MySQL keeps it."""
    return Column(name, TINYINT(1), nullable=False, server_default=text(str(int(default))))


def long_text(name: str) -> Column[str]:
    """Text of up to 16 MB: raw bodies, descriptions."""
    return Column(name, MEDIUMTEXT(collation="utf8mb4_bin"), nullable=True)
