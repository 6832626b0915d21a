"""Twelve invented sources on one morning, in the order in which the page of today shows them."""

from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Morning:
    """One source this morning: ``now`` and ``at_nine`` are (state, pages, postings, details)."""

    platform: str
    label: str
    now: tuple[str, int, int, int]
    at_nine: tuple[str, int, int, int] | None
    condition: str = '{"keyword": ["backend"]}'
    columns: Row = field(default_factory=dict)
    broken_days: int = 0
    usual: int = 300
    active: bool = True


NOT_BEGUN = ("NOT_STARTED", 0, 0, 0)
MORNINGS = (
    Morning(
        "saramin",
        "사람인 · 데이터 엔지니어",
        ("FAILED", 14, 1_320, 0),
        ("RUNNING", 11, 1_040, 0),
        '{"keywords": ["데이터 엔지니어"], "loc_cd": ["101000"]}',
        {"failure_reason": "RATE_LIMITED", "failure_detail": "status 429, Retry-After 900"},
        usual=2_600,
    ),
    Morning(
        "lever",
        "새벽물류랩 채용",
        ("FAILED", 1, 0, 0),
        ("FAILED", 1, 0, 0),
        '{"site": ["dawn-logistics"]}',
        {
            "failure_reason": "BAD_RESPONSE",
            "failure_detail": "the body is HTML, not JSON: the board has moved to another system"
            " and answers every address with its new home page",
        },
        broken_days=4,
        usual=34,
    ),
    Morning(
        "greenhouse",
        "모래시계게임즈 채용",
        ("SUCCESS", 1, 0, 0),
        ("SUCCESS", 1, 0, 0),
        '{"board": ["hourglassgames"]}',
        {"is_complete": 1},
        usual=41,
    ),
    Morning(
        "wanted",
        "원티드 · 백엔드 개발",
        ("BUDGET_EXHAUSTED", 50, 4_870, 300),
        ("PENDING", 41, 4_020, 245),
        '{"form": ["v4"], "tag_type_ids": ["872"]}',
        {"budget_exhausted_reason": "LIST_PAGES"},
        usual=4_300,
    ),
    Morning(
        "jumpit",
        "점핏 · 프론트엔드",
        ("SUCCESS", 22, 318, 96),
        ("PENDING", 10, 150, 40),
        '{"jobCategory": ["2"]}',
        {"stated_total": 395, "failure_detail": "INCOMPLETE"},
        usual=380,
    ),
    Morning(
        "saramin",
        "사람인 · 백엔드 서울",
        ("RUNNING", 19, 1_810, 0),
        ("RUNNING", 9, 860, 0),
        '{"keywords": ["백엔드"], "loc_cd": ["101000"]}',
        usual=2_900,
    ),
    Morning(
        "wanted",
        "원티드 · 데이터 사이언스",
        ("PENDING", 15, 1_480, 150),
        ("PENDING", 10, 990, 100),
        '{"form": ["v4"], "tag_type_ids": ["655"]}',
        usual=1_900,
    ),
    Morning(
        "jumpit", "점핏 · 데브옵스", ("NOT_STARTED", 0, 0, 0), ("NOT_STARTED", 0, 0, 0), usual=120
    ),
    Morning(
        "greenhouse",
        "하늘소프트 채용",
        ("SUCCESS", 1, 128, 0),
        ("SUCCESS", 1, 128, 0),
        '{"board": ["hanulsoft"]}',
        {"is_complete": 1, "new_count": 6, "closed_count": 2},
        usual=126,
    ),
    Morning(
        "lever",
        "Northwind Robotics",
        ("SUCCESS", 3, 74, 0),
        ("SUCCESS", 3, 74, 0),
        '{"site": ["northwind-robotics"]}',
        {"is_complete": 1, "new_count": 1},
        usual=73,
    ),
    Morning(
        "greenhouse",
        "푸른은행 디지털",
        ("SUCCESS", 1, 57, 0),
        ("RUNNING", 0, 0, 0),
        '{"board": ["bluebankdigital"]}',
        {"is_complete": 1, "new_count": 57},
        usual=52,
    ),
    Morning(
        "lever", "달빛커머스 채용", ("OFF", 0, 0, 0), None, '{"site": ["moonlight"]}', active=False
    ),
)
