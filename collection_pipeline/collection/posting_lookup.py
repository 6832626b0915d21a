"""What a slice asks the store between requests: short transactions, nothing kept (R22a, R25)."""

import threading
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from collection_pipeline import checkpoints
from collection_pipeline.domain.posting import DetailTarget, KnownPosting
from collection_pipeline.domain.source import SourceType
from collection_pipeline.store.claim import ClaimedCycle
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.companies import Companies
from collection_pipeline.store.seen import SeenPostings
from collection_pipeline.store.transaction import TransactionRunner

REMEMBERED_COMPANIES = 20_000


class CompanyDirectory:
    """Finds or registers companies by name; remembers ids, which never change, up to a bound."""

    def __init__(self, transactions: TransactionRunner, clock: DatabaseClock) -> None:
        self._transactions = transactions
        self._clock = clock
        self._companies = Companies()
        self._lock = threading.Lock()
        self._remembered: dict[str, int] = {}

    def resolve(self, names: Sequence[str]) -> dict[str, int]:
        """Ids of all names; short transactions only for names that are not remembered."""
        with self._lock:
            known = {name: self._remembered[name] for name in names if name in self._remembered}
        unknown = [name for name in names if name not in known]
        if not unknown:
            return known
        found = self._find_or_register(unknown)
        with self._lock:
            if len(self._remembered) + len(found) > REMEMBERED_COMPANIES:
                self._remembered.clear()
            self._remembered.update(found)
        checkpoints.reach(checkpoints.AFTER_COMPANIES)
        return {**known, **found}

    def _find_or_register(self, names: Sequence[str]) -> dict[str, int]:
        found = self._transactions.run(lambda connection: self._companies.find(connection, names))
        unknown = [name for name in names if name not in found]
        if not unknown:
            return found

        def registering(connection: Connection) -> dict[str, int]:
            self._companies.register(connection, unknown, self._clock.now(connection))
            return self._companies.find(connection, names)

        return self._transactions.run(registering)


class StoredPostingLookup:
    """``PostingLookup`` for one claimed cycle."""

    def __init__(
        self,
        transactions: TransactionRunner,
        companies: CompanyDirectory,
        claimed: ClaimedCycle,
    ) -> None:
        self._transactions = transactions
        self._companies = companies
        self._cycle = claimed.cycle
        self._source = claimed.source
        self._seen = SeenPostings()

    def known_postings(self, source_job_ids: Sequence[str]) -> Mapping[str, KnownPosting]:
        """One indexed read for one page."""
        if not source_job_ids:
            return {}
        return self._transactions.run(
            lambda connection: self._seen.known(
                connection, self._cycle.id, self._source.id, source_job_ids
            )
        )

    def waiting_details(self, limit: int) -> list[DetailTarget]:
        """The first ``limit`` postings of this cycle whose detail waits."""
        return self._transactions.run(
            lambda connection: self._seen.waiting_details(
                connection, self._cycle.id, self._source.id, limit
            )
        )

    def resolve_companies(self, names: Sequence[str]) -> Mapping[str, int]:
        """Find or register the companies of an aggregator's page; a board has its own company."""
        if self._source.source_type is SourceType.COMPANY_BOUND:
            return {}
        return self._companies.resolve(names)
