"""Job sources: registering, listing, switching, and asking whether one is runnable (R2, R27)."""

import json
from collections.abc import Collection
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from collection_pipeline.domain.source import (
    BudgetOverrides,
    Condition,
    DetailMode,
    JobSource,
    SourceType,
)
from collection_pipeline.store.runnable import is_runnable
from collection_pipeline.store.schema.sources import job_sources


class UnknownSource(LookupError):
    """There is no job source with that id."""

    def __init__(self, source_id: int) -> None:
        super().__init__(f"there is no job source with id {source_id}")


def encoded_condition(condition: Condition) -> str:
    """The JSON in which a search condition is stored; keys sorted, values in their order."""
    return json.dumps(condition, ensure_ascii=False, sort_keys=True)


def source_of_row(row: Row[Any]) -> JobSource:
    """The source in a row that holds the columns of ``job_sources``."""
    return JobSource(
        id=row.id,
        platform=row.platform,
        source_type=SourceType(row.source_type),
        label=row.label,
        condition=json.loads(row.search_condition),
        company_id=row.company_id,
        active=bool(row.active),
        detail_mode=DetailMode(row.detail_mode),
        overrides=BudgetOverrides(
            row.daily_list_pages, row.daily_postings, row.daily_detail_requests, row.min_delay_ms
        ),
    )


class JobSources:
    """Reads and writes ``job_sources`` on a connection of the caller's transaction."""

    def add(self, connection: Connection, source: JobSource, now: datetime) -> int:
        """Store a new source (its ``id`` is ignored); returns the id given by the database."""
        result = connection.execute(
            job_sources.insert().values(
                platform=source.platform,
                source_type=source.source_type.value,
                label=source.label,
                search_condition=encoded_condition(source.condition),
                company_id=source.company_id,
                active=int(source.active),
                detail_mode=source.detail_mode.value,
                daily_list_pages=source.overrides.list_pages,
                daily_postings=source.overrides.postings,
                daily_detail_requests=source.overrides.detail_requests,
                min_delay_ms=source.overrides.min_delay_ms,
                created_at=now,
                updated_at=now,
            )
        )
        return int(result.lastrowid)

    def get(self, connection: Connection, source_id: int) -> JobSource:
        """The source with that id; raises ``UnknownSource``."""
        row = connection.execute(_by_id(source_id)).one_or_none()
        if row is None:
            raise UnknownSource(source_id)
        return source_of_row(row)

    def all(self, connection: Connection) -> list[JobSource]:
        """Every source, by id."""
        return [
            source_of_row(row)
            for row in connection.execute(select(job_sources).order_by(job_sources.c.id))
        ]

    def switch(
        self, connection: Connection, source_id: int, *, active: bool, now: datetime
    ) -> None:
        """Enable or disable a source; raises ``UnknownSource``."""
        result = connection.execute(
            job_sources.update()
            .where(job_sources.c.id == source_id)
            .values(active=int(active), updated_at=now)
        )
        if result.rowcount == 0:
            raise UnknownSource(source_id)

    def is_runnable(
        self, connection: Connection, source_id: int, run_date: date, platforms: Collection[str]
    ) -> bool:
        """The one predicate for one source (R27)."""
        statement = select(job_sources.c.id).where(
            job_sources.c.id == source_id, is_runnable(run_date, platforms)
        )
        return connection.execute(statement).one_or_none() is not None


def _by_id(source_id: int) -> Select[Any]:
    return select(job_sources).where(job_sources.c.id == source_id)
