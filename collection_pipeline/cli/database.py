"""From the environment to an assembled pipeline, or one sentence that says what is missing."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from collection_pipeline.collection.assembly import CollectionPipeline, assemble
from collection_pipeline.local_db.persistent import local_status
from collection_pipeline.settings import PREFIX, Settings, load_settings
from collection_pipeline.store.migration import require_current_schema
from collection_pipeline.store.schema.cycles import host_claims
from collection_pipeline.store.transaction import is_lost, mysql_error_code

OLDEST_MYSQL = (8, 0)
OLDEST_MARIADB = (10, 6)


class NoDatabase(Exception):
    """Neither a named nor a private database is there."""

    def __init__(self) -> None:
        super().__init__(
            "no database: set COLLECTION_DATABASE_URL, or start the private server with "
            "'collection-pipeline local-db start'"
        )


class DatabaseUnusable(Exception):
    """The database cannot be reached, or is not one that the queue can stand on."""


@contextmanager
def opened_pipeline(*, migrated: bool = True) -> Iterator[CollectionPipeline]:
    """The services over the configured database, which is checked first."""
    pipeline = configured_pipeline()
    try:
        check_database(pipeline, migrated=migrated)
        yield pipeline
    finally:
        pipeline.close()


def configured_pipeline() -> CollectionPipeline:
    """The services as the environment describes them; nothing has connected yet."""
    settings = load_settings(os.environ)
    url = database_url(settings)
    with explained_url_errors():
        return assemble(settings, url)


@contextmanager
def explained_url_errors() -> Iterator[None]:
    """Turn what SQLAlchemy says of a URL into ``DatabaseUnusable``."""
    try:
        yield
    except ValueError as error:
        raise DatabaseUnusable(f"{PREFIX}DATABASE_URL: an option of it is wrong: {error}") from None
    except ModuleNotFoundError:
        raise DatabaseUnusable(
            f"the driver that {PREFIX}DATABASE_URL names is not installed: write mysql+pymysql://, "
            "or install the extra 'mysqlclient'"
        ) from None


def database_url(settings: Settings) -> str:
    """``COLLECTION_DATABASE_URL``, else the private server's; raises ``NoDatabase``."""
    if settings.database_url is not None:
        return settings.database_url
    local = local_status()
    if local is None:
        raise NoDatabase
    return local.url


def dagster_database_url(settings: Settings) -> str | None:
    """``COLLECTION_DAGSTER_DATABASE_URL``, else the private server's, else ``None``."""
    if settings.dagster_database_url is not None:
        return settings.dagster_database_url
    if settings.database_url is not None:
        return None
    local = local_status()
    return None if local is None else local.dagster_url


def check_database(pipeline: CollectionPipeline, *, migrated: bool = True) -> str:
    """The server's version; raises ``DatabaseUnusable`` or ``SchemaBehind``."""
    try:
        with pipeline.engine.connect() as connection:
            version = _require_server(connection)
            if migrated:
                require_current_schema(connection)
            return version
    except (TypeError, ValueError) as error:
        # A driver takes the URL's query as arguments of its own.
        raise DatabaseUnusable(f"{PREFIX}DATABASE_URL: its driver says {error}") from None
    except DBAPIError as error:
        where = pipeline.engine.url.set(query={}).render_as_string(hide_password=True)
        problem = "cannot be reached" if is_lost(error) else "refuses this account or database"
        raise DatabaseUnusable(
            f"the database {where} {problem} (MySQL error {error.orig.args[0]})"
            if error.orig is not None and error.orig.args
            else f"the database {where} {problem}"
        ) from None


def check_writing(pipeline: CollectionPipeline) -> None:
    """Raise ``DatabaseUnusable`` for an account that may only read; nothing is kept."""
    try:
        with pipeline.engine.connect() as connection:
            connection.execute(host_claims.insert().values(host="check.invalid"))
            connection.rollback()
    except DBAPIError as error:
        raise DatabaseUnusable(
            "the database account may not write to the queue's tables: grant it SELECT, INSERT, "
            f"UPDATE and DELETE (MySQL error {mysql_error_code(error)})"
        ) from None


def _require_server(connection: Connection) -> str:
    version, log_bin, binlog_format = connection.execute(
        text("SELECT VERSION(), @@log_bin, @@binlog_format")
    ).one()
    name, oldest = ("MariaDB", OLDEST_MARIADB) if "MariaDB" in version else ("MySQL", OLDEST_MYSQL)
    if parsed_version(version) < oldest:
        raise DatabaseUnusable(
            f"{name} {version} is too old: the queue needs SKIP LOCKED, so at least "
            f"{name} {'.'.join(map(str, oldest))}"
        )
    if log_bin and binlog_format == "STATEMENT":
        raise DatabaseUnusable(
            "binlog_format=STATEMENT cannot replicate READ COMMITTED writes: set it to ROW"
        )
    return str(version)


def parsed_version(text_of_version: str) -> tuple[int, int]:
    """Major and minor of what ``VERSION()`` says, such as ``10.11.19-MariaDB``."""
    numbers = text_of_version.split("-")[0].split(".")
    return int(numbers[0]), int(numbers[1])
