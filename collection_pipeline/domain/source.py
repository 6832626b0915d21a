"""What is collected: a job source, one search on one platform."""

from dataclasses import dataclass, field
from enum import StrEnum

from collection_pipeline.domain.budget import InvalidBudget


class Platform(StrEnum):
    """Every platform name of the specification; ``adapters.registry`` holds the supported."""

    WANTED = "wanted"
    SARAMIN = "saramin"
    JUMPIT = "jumpit"
    GREENHOUSE = "greenhouse"
    LEVER = "lever"
    ASHBY = "ashby"
    GREETINGHR = "greetinghr"
    KAKAO = "kakao"
    NAVER = "naver"
    WOOWAHAN = "woowahan"
    TOSS = "toss"
    LINE = "line"


class SourceType(StrEnum):
    """AGGREGATOR: postings of many companies. COMPANY_BOUND: the board of one company."""

    AGGREGATOR = "AGGREGATOR"
    COMPANY_BOUND = "COMPANY_BOUND"


AGGREGATORS = frozenset({Platform.WANTED, Platform.SARAMIN, Platform.JUMPIT})


def source_type_of(platform: Platform) -> SourceType:
    """Wanted, Saramin and Jumpit aggregate; every other platform is one company's board."""
    return SourceType.AGGREGATOR if platform in AGGREGATORS else SourceType.COMPANY_BOUND


class DetailMode(StrEnum):
    """How details that are left over count when the list has ended (R22)."""

    REQUIRED = "required"
    BEST_EFFORT = "best_effort"
    OFF = "off"


@dataclass(frozen=True)
class BudgetOverrides:
    """A source's own daily limits; ``None`` leaves the platform's or the general one in force."""

    list_pages: int | None = None
    postings: int | None = None
    detail_requests: int | None = None
    min_delay_ms: int | None = None

    def check(self) -> None:
        """Raise ``InvalidBudget`` for zero or less, which a database row can hold (R2)."""
        for name, value in vars(self).items():
            if value is not None and value < 1:
                raise InvalidBudget(f"{name} must be at least 1, not {value}")


Condition = dict[str, list[str]]
"""A search condition: key to its values, in the order given (a key may be repeated)."""


@dataclass(frozen=True)
class JobSource:
    """A row of ``job_sources``. ``platform`` stays text: a newer release may have written it."""

    id: int
    platform: str
    source_type: SourceType
    label: str
    condition: Condition
    company_id: int | None = None
    active: bool = True
    detail_mode: DetailMode = DetailMode.REQUIRED
    overrides: BudgetOverrides = field(default_factory=BudgetOverrides)
