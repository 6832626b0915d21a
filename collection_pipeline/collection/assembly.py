"""Puts the services together from settings: one place for tests, command line and Dagster."""

import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import getpid

from sqlalchemy import Engine

from collection_pipeline.collection.cleanup import SeenRowCleanup
from collection_pipeline.collection.creation import CollectionCycleDomainService
from collection_pipeline.collection.dispatch import CollectionDispatchUseCase
from collection_pipeline.collection.notifications import OperationsNotifications
from collection_pipeline.collection.preparation import CyclePreparation
from collection_pipeline.collection.retention import Retention
from collection_pipeline.collection.slice_processor import CollectionSliceProcessor
from collection_pipeline.collection.snapshot import CollectionSlaSnapshotDomainService
from collection_pipeline.collection.snapshot_attempt import gate_session_terms
from collection_pipeline.domain.source import Platform
from collection_pipeline.notification.webhook import open_notifier
from collection_pipeline.platforms.adapters.registry import build_registry
from collection_pipeline.platforms.contract import PlatformAdapter
from collection_pipeline.platforms.gateway import PlatformGateway
from collection_pipeline.platforms.wire.executor import PacedSender
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline.settings import Settings
from collection_pipeline.store.clock import DatabaseClock
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.cycle_repository import JobPostingCollectionCycleRepository
from collection_pipeline.store.gate import CollectionSlaCutoffGate
from collection_pipeline.store.open_connections import OpenConnections
from collection_pipeline.store.slice_end import EndTerms, SliceEnd
from collection_pipeline.store.throttle import PersistentHostRequestThrottle
from collection_pipeline.store.transaction import TransactionRunner


@dataclass(frozen=True)
class CollectionPipeline:
    """Every service of one process; ``close`` gives the connections back."""

    settings: Settings
    engine: Engine
    transactions: TransactionRunner
    clock: DatabaseClock
    gate: CollectionSlaCutoffGate
    repository: JobPostingCollectionCycleRepository
    gateway: PlatformGateway
    creation: CollectionCycleDomainService
    dispatch: CollectionDispatchUseCase
    cleanup: SeenRowCleanup
    snapshots: CollectionSlaSnapshotDomainService
    notifications: OperationsNotifications
    retention: Retention

    def close(self) -> None:
        """Close every pooled connection."""
        self.engine.dispose()


def assemble(settings: Settings, database_url: str) -> CollectionPipeline:
    """The services over one database; nothing connects before it is used."""
    engine = open_engine(database_url)
    connections = OpenConnections()
    connections.watch(engine)
    transactions = TransactionRunner(engine)
    clock = DatabaseClock()
    gate = CollectionSlaCutoffGate(transactions, clock, settings.sla_cutoff)
    terms = EndTerms(settings["CLOSE_AFTER_MISSED_CYCLES"], settings["SOURCE_BROKEN_AFTER_DAYS"])
    repository = JobPostingCollectionCycleRepository(
        transactions, clock, gate, SliceEnd(clock, terms)
    )
    gateway = PlatformGateway(
        build_registry(settings),
        lambda: open_sender(settings),
        PersistentHostRequestThrottle(transactions, clock),
        connections,
        settings,
    )
    creation = CollectionCycleDomainService(transactions, clock, gate, gateway.platforms)
    gate_terms = gate_session_terms(
        settings["SLA_CAPTURE_TOLERANCE_SECONDS"], settings["SLA_LATE_START_SECONDS"]
    )
    snapshots = CollectionSlaSnapshotDomainService(
        transactions,
        clock,
        creation,
        # Not watched: its transaction may wait for a minute while slices of this process work.
        lambda: open_engine(database_url, gate_terms),
        settings,
    )
    notifications = OperationsNotifications(
        transactions, clock, settings, open_notifier(settings), connections
    )
    preparation = CyclePreparation(transactions, clock, gate, repository, gateway)
    processor = CollectionSliceProcessor(transactions, clock, repository, gateway, settings)
    dispatch = CollectionDispatchUseCase(
        transactions,
        clock,
        creation,
        snapshots,
        notifications,
        preparation,
        repository,
        processor,
        connections,
        settings,
    )
    return CollectionPipeline(
        settings,
        engine,
        transactions,
        clock,
        gate,
        repository,
        gateway,
        creation,
        dispatch,
        SeenRowCleanup(transactions, clock, settings),
        snapshots,
        notifications,
        Retention(transactions, clock, settings),
    )


def open_sender(settings: Settings) -> AbstractContextManager[PacedSender]:
    """A sender that knows every secret to keep out of texts (R29)."""
    return RequestsSender(settings)


def adapters(settings: Settings) -> Mapping[Platform, PlatformAdapter]:
    """The supported platforms' adapters, for checking conditions without a database."""
    return build_registry(settings)


def worker_name() -> str:
    """Who this process is in leases and slices: host and process id."""
    return f"{socket.gethostname()}:{getpid()}"[:200]
