"""What the demo collects, and how each source's days must end."""

from dataclasses import dataclass
from typing import Any

SUCCESS = "SUCCESS"
FAILED = "FAILED"
EXHAUSTED = "BUDGET_EXHAUSTED"
NOTHING = "no cycle"


@dataclass(frozen=True)
class DemoSource:
    """``row`` as for 'sources add'; ``key`` is the simulator's; ``ends`` one state a day."""

    label: str
    key: str
    row: dict[str, Any]
    ends: tuple[str, str, str]
    active: bool = True

    @property
    def platform(self) -> str:
        """The platform's name."""
        return str(self.row["platform"])


def _source(
    label: str,
    platform: str,
    key: str,
    condition: dict[str, str],
    ends: tuple[str, str, str] = (SUCCESS, SUCCESS, SUCCESS),
    *,
    active: bool = True,
    **more: str,
) -> DemoSource:
    row = {"platform": platform, "label": label, "condition": condition, **more}
    return DemoSource(label, key, row, ends, active)


DEMO_SOURCES = (
    _source("a small source", "wanted", "872", {"form": "v4", "tag_type_ids": "872"}),
    _source("an exact page boundary", "wanted", "518", {"form": "chaos", "job_group_id": "518"}),
    _source(
        "answers 429 on its second page",
        "wanted",
        "669",
        {"form": "chaos", "job_group_id": "669"},
        (FAILED, FAILED, FAILED),
    ),
    _source("2,594 results", "saramin", "backend", {"keywords": "backend"}),
    _source(
        "above the daily cap",
        "saramin",
        "everything",
        {"keywords": "everything"},
        (EXHAUSTED, EXHAUSTED, EXHAUSTED),
    ),
    _source("zero results", "saramin", "nothing", {"keywords": "nothing"}),
    _source("a single result", "saramin", "single", {"keywords": "single"}),
    _source(
        "disabled",
        "saramin",
        "switched-off-20",
        {"keywords": "switched-off-20"},
        (NOTHING, NOTHING, NOTHING),
        active=False,
    ),
    _source(
        "more details than the budget",
        "jumpit",
        "1",
        {"jobCategory": "1"},
        (EXHAUSTED, SUCCESS, SUCCESS),
    ),
    _source("a Greenhouse board", "greenhouse", "daangn-demo", {"board": "daangn-demo"}),
    _source(
        "a Lever board", "lever", "moloco-demo", {"site": "moloco-demo"}, company="몰로코 데모"
    ),
    _source(
        "a Lever board in Europe",
        "lever",
        "euro-demo",
        {"site": "euro-demo", "region": "eu"},
        company="Euro Demo GmbH",
    ),
)
