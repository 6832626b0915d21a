"""The door to all platforms: descriptor in, outcome out (R2, R20 to R28)."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from collection_pipeline.domain.failure import CollectionFailure, CollectionFailureReason
from collection_pipeline.domain.slices import (
    CollectionSliceDescriptor,
    Failed,
    HostRequestThrottleGateway,
    SlicePermit,
    SliceWork,
    SourceCollectionSliceOutcome,
)
from collection_pipeline.domain.source import Condition, JobSource, Platform
from collection_pipeline.domain.transaction_guard import TransactionGuard
from collection_pipeline.platforms.contract import (
    InvalidCondition,
    MissingCredential,
    PlatformAdapter,
)
from collection_pipeline.platforms.key_quotas import key_quota_of
from collection_pipeline.platforms.slices.slice_loop import SliceLoop
from collection_pipeline.platforms.wire.executor import PacedSender, SourceRequestExecutor
from collection_pipeline.platforms.wire.policy import host_key
from collection_pipeline.settings import Settings


class UnsupportedPlatform(ValueError):
    """This release has no adapter for the platform (R2)."""

    def __init__(self, platform: str, supported: frozenset[str]) -> None:
        super().__init__(
            f"platform {platform!r} is not supported; supported are {', '.join(sorted(supported))}"
        )


BadDescriptor = (UnsupportedPlatform, InvalidCondition, MissingCredential)
"""What makes a source uncollectable before any request."""


class PlatformGateway:
    """``JobSourceGateway`` over the adapters; opens one sender a slice."""

    def __init__(
        self,
        adapters: Mapping[Platform, PlatformAdapter],
        open_sender: Callable[[], AbstractContextManager[PacedSender]],
        throttle: HostRequestThrottleGateway,
        transactions: TransactionGuard,
        settings: Settings,
    ) -> None:
        self._adapters = adapters
        self._open_sender = open_sender
        self._throttle = throttle
        self._transactions = transactions
        self._settings = settings
        self.platforms = frozenset(platform.value for platform in adapters)

    def collect_slice(
        self, descriptor: CollectionSliceDescriptor, permit: SlicePermit
    ) -> SourceCollectionSliceOutcome:
        """One slice; a bad descriptor is a CONFIG failure without a request."""
        source = descriptor.source
        try:
            adapter = self.adapter_of(source.platform)
            adapter.check(source.condition)
        except BadDescriptor as error:
            return Failed(
                SliceWork(), CollectionFailure(CollectionFailureReason.CONFIG, str(error))
            )
        with self._open_sender() as sender:
            executor = SourceRequestExecutor(
                sender,
                self._throttle,
                permit,
                self._transactions,
                self._settings,
                quota=key_quota_of(adapter.platform, self._settings),
            )
            return SliceLoop(adapter, executor, descriptor).collect()

    def adapter_of(self, platform: str) -> PlatformAdapter:
        """The platform's adapter; raises ``UnsupportedPlatform``."""
        for known, adapter in self._adapters.items():
            if known.value == platform:
                return adapter
        raise UnsupportedPlatform(platform, self.platforms)

    def host_of(self, platform: str, condition: Condition) -> str:
        """The host that a checked condition will be sent to; raises one of ``BadDescriptor``."""
        adapter = self.adapter_of(platform)
        adapter.check(condition)
        return host_key(adapter.base_url(condition))

    def has_details(self, source: JobSource) -> bool:
        """Whether postings of this source have a detail of their own."""
        return self.adapter_of(source.platform).has_details
