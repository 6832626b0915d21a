"""Conditions that a platform would ignore, refuse or misread are refused first (R2, R23b)."""

import pytest

from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.registry import SUPPORTED_PLATFORMS, build_registry
from collection_pipeline.platforms.contract import InvalidCondition
from collection_pipeline.settings import load_settings

REGISTRY = build_registry(
    load_settings(
        {
            "COLLECTION_SARAMIN_ACCESS_KEY": "planted",
            "COLLECTION_WANTED_BASE_URL": "http://127.0.0.1:9",
            "COLLECTION_LEVER_EU_BASE_URL": "http://127.0.0.1:8",
        }
    )
)


def test_the_registry_holds_every_supported_platform_with_its_own_host() -> None:
    """R2: others end FAILED with CONFIG."""
    assert set(REGISTRY) == SUPPORTED_PLATFORMS
    assert all(adapter.platform is platform for platform, adapter in REGISTRY.items())
    assert REGISTRY[Platform.WANTED].base_url({}) == "http://127.0.0.1:9"
    assert REGISTRY[Platform.LEVER].base_url({"region": ["eu"]}) == "http://127.0.0.1:8"


@pytest.mark.parametrize(
    ("platform", "condition"),
    [
        (Platform.WANTED, {}),
        (Platform.WANTED, {"job_group_id": ["518"], "job_ids": ["872", "669"]}),
        (Platform.WANTED, {"job_group_id": ["-1"], "years": ["-1"]}),
        (Platform.WANTED, {"form": ["v4"]}),
        (Platform.WANTED, {"tag_type_ids": ["518"]}),
        (Platform.WANTED, {"form": ["v4"], "tag_type_ids": ["518", "872"], "years": ["0", "3"]}),
        (Platform.WANTED, {"locations": ["seoul.all", "seoul.gangnam-gu"]}),
        (Platform.SARAMIN, {"keywords": ["백엔드 파이썬", "C++"]}),
        (Platform.SARAMIN, {"job_mid_cd": ["2"], "loc_cd": ["101000,102000"]}),
        (Platform.JUMPIT, {}),
        (Platform.JUMPIT, {"jobCategory": ["1", "8"], "career": ["0"], "keyword": ["C++"]}),
        (Platform.GREENHOUSE, {"board": ["daangn"]}),
        (Platform.LEVER, {"site": ["gaon"], "region": ["eu"]}),
    ],
)
def test_a_condition_that_the_platform_obeys_is_accepted(
    platform: Platform, condition: Condition
) -> None:
    """R23b."""
    REGISTRY[platform].check(condition)


@pytest.mark.parametrize(
    ("platform", "condition", "advice"),
    [
        (Platform.WANTED, {"query": ["백엔드"]}, "job_group_id=518"),
        (Platform.WANTED, {"form": ["v4"], "query": ["백엔드"]}, "tag_type_ids=518"),
        (Platform.WANTED, {"form": ["v4"], "keyword": ["백엔드"]}, "tag_type_ids=518"),
        (Platform.WANTED, {"form": ["chaos"], "tag_type_ids": ["518"]}, "form=v4"),
        (Platform.WANTED, {"tag_type_ids": ["518"], "job_group_id": ["518"]}, "form=v4"),
        (Platform.WANTED, {"form": ["chaos"], "tag_type_ids": ["518"]}, "job_group_id"),
        (Platform.WANTED, {"form": ["v4"], "job_group_id": ["518"]}, "tag_type_ids"),
        (Platform.WANTED, {"form": ["v4"], "job_ids": ["872"]}, "tag_type_ids"),
        (Platform.WANTED, {"form": ["v5"]}, "form=v4"),
        (Platform.WANTED, {"form": []}, "form=v4"),
        (Platform.WANTED, {"form": ["v4", "chaos"]}, "form=v4"),
        (Platform.WANTED, {"job_ids": ["872,669"]}, "repeat the key"),
        (Platform.WANTED, {"job_group_id": ["518", "507"]}, "once"),
        (Platform.WANTED, {"years": ["0", "3", "5"]}, "at most 2"),
        (Platform.WANTED, {"years": ["3", "0"]}, "lower first"),
        (Platform.WANTED, {"years": ["-1", "3"]}, "lower first"),
        (Platform.WANTED, {"locations": ["all", "seoul.all"]}, "alone"),
        (Platform.WANTED, {"limit": ["20"]}, "write one of"),
        (Platform.SARAMIN, {}, "needs a filter"),
        (Platform.SARAMIN, {"keywords": [""]}, "write keywords="),
        (Platform.SARAMIN, {"keywords": ["a\nb"]}, "printable"),
        (Platform.SARAMIN, {"keywords": ["x" * 201]}, "at most 200"),
        (Platform.SARAMIN, {"loc_cd": ["서울"]}, "loc_cd=101000"),
        (Platform.SARAMIN, {"access-key": ["x"]}, "write one of"),
        (Platform.JUMPIT, {"keyword": ["서비스 기획"]}, "one word"),
        (Platform.JUMPIT, {"keyword": ["서비스\u3000기획"]}, "one word"),
        (Platform.JUMPIT, {"keyword": ["a", "b"]}, "once"),
        (Platform.JUMPIT, {"jobCategory": ["1,8"]}, "repeat the key"),
        (Platform.JUMPIT, {"jobCategory": ["1", "1"]}, "once"),
        (Platform.JUMPIT, {"career": [""]}, "career=3"),
        (Platform.JUMPIT, {"size": ["100"]}, "leave it out"),
        (Platform.GREENHOUSE, {}, "board="),
        (Platform.GREENHOUSE, {"board": []}, "board="),
        (Platform.GREENHOUSE, {"board": ["https://boards.greenhouse.io/x"]}, "board="),
        (Platform.GREENHOUSE, {"board": ["../x"]}, "board="),
        (Platform.LEVER, {"region": ["eu"]}, "site="),
        (Platform.LEVER, {"site": [".."]}, "site="),
        (Platform.LEVER, {"site": ["a"], "region": ["us"]}, "region=eu"),
    ],
)
def test_anything_else_is_refused_with_what_to_write_instead(
    platform: Platform, condition: Condition, advice: str
) -> None:
    """R2, R23b: exit code 2 when a source is added, CONFIG afterwards."""
    with pytest.raises(InvalidCondition, match=advice) as refused:
        REGISTRY[platform].check(condition)
    assert str(refused.value).startswith(platform)


@pytest.mark.parametrize("values", [None, "518", 518, [518], [None], {"a": 1}])
def test_a_stored_condition_of_another_type_is_refused(values: object) -> None:
    """R2: the condition is JSON that somebody may have edited."""
    for platform, key in ((Platform.WANTED, "job_group_id"), (Platform.JUMPIT, "keyword")):
        with pytest.raises(InvalidCondition):
            REGISTRY[platform].check({key: values})  # type: ignore[dict-item] # wrong on purpose
