"""Which platforms are supported, and where their adapters get hosts and secrets from (R2)."""

from collection_pipeline.domain.source import Platform
from collection_pipeline.platforms.adapters.greenhouse import GreenhouseAdapter
from collection_pipeline.platforms.adapters.jumpit import JumpitAdapter
from collection_pipeline.platforms.adapters.lever import LeverAdapter
from collection_pipeline.platforms.adapters.saramin import SaraminAdapter
from collection_pipeline.platforms.adapters.wanted import WantedAdapter
from collection_pipeline.platforms.contract import PlatformAdapter
from collection_pipeline.settings import Settings

SUPPORTED_PLATFORMS = frozenset(
    {
        Platform.WANTED,
        Platform.SARAMIN,
        Platform.JUMPIT,
        Platform.GREENHOUSE,
        Platform.LEVER,
    }
)
"""The platforms that can be collected; sources of others end FAILED with CONFIG (R2)."""


def build_registry(settings: Settings) -> dict[Platform, PlatformAdapter]:
    """An adapter for each supported platform, with base URLs and secrets of ``settings``."""
    hosts = settings.base_urls
    adapters: tuple[PlatformAdapter, ...] = (
        WantedAdapter(hosts["WANTED"]),
        SaraminAdapter(hosts["SARAMIN"], settings.secrets.get("SARAMIN_ACCESS_KEY")),
        JumpitAdapter(hosts["JUMPIT"]),
        GreenhouseAdapter(hosts["GREENHOUSE"]),
        LeverAdapter(hosts["LEVER"], hosts["LEVER_EU"]),
    )
    return {adapter.platform: adapter for adapter in adapters}
