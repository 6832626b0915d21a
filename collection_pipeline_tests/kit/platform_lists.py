"""A good first list page of every platform and form, for tests that bend it."""

from typing import Any

from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.registry import build_registry
from collection_pipeline.settings import load_settings
from collection_pipeline_tests.kit import platform_bodies as bodies

REGISTRY = build_registry(load_settings({"COLLECTION_SARAMIN_ACCESS_KEY": "planted"}))
NUMBERS = range(101, 109)
CHAOS_NEXT = "/api/chaos/navigation/v1/results?limit=100&offset=100"

LISTS: dict[str, tuple[Platform, Condition, Any]] = {
    "wanted v4": (
        Platform.WANTED,
        {"form": ["v4"]},
        bodies.wanted_page([bodies.wanted_v4_row(n) for n in NUMBERS], "/api/v4/jobs?offset=100"),
    ),
    "wanted chaos": (
        Platform.WANTED,
        {},
        bodies.wanted_page([bodies.wanted_chaos_row(n) for n in NUMBERS], CHAOS_NEXT),
    ),
    "saramin": (
        Platform.SARAMIN,
        {"keywords": ["x"]},
        bodies.saramin_page([bodies.saramin_row(n) for n in NUMBERS], "4011"),
    ),
    "jumpit": (
        Platform.JUMPIT,
        {},
        bodies.jumpit_page([bodies.jumpit_row(n) for n in NUMBERS], 152),
    ),
    "greenhouse": (
        Platform.GREENHOUSE,
        {"board": ["x"]},
        bodies.greenhouse_board([bodies.greenhouse_row(n) for n in NUMBERS]),
    ),
    "lever": (Platform.LEVER, {"site": ["x"]}, [bodies.lever_row(n) for n in NUMBERS]),
}
