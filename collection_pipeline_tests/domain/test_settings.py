"""Every setting: default, bounds, and an error that names its variable (spec section 3)."""

from datetime import time

import pytest

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.settings import (
    NUMBERS,
    PLATFORM_NUMBERS,
    PLATFORM_PREFIXES,
    PREFIX,
    InvalidSetting,
    NumberSetting,
    load_settings,
)

DEFAULTS = {
    "TICK_CLAIM_LIMIT": 10,
    "MAX_LEASES_PER_HOST": 3,
    "SLICE_MAX_LIST_PAGES": 5,
    "SLICE_MAX_POSTINGS": 500,
    "SLICE_MAX_DETAIL_REQUESTS": 50,
    "SLICE_MAX_SECONDS": 300,
    "DAILY_MAX_LIST_PAGES": 50,
    "DAILY_MAX_POSTINGS": 5000,
    "DAILY_MAX_DETAIL_REQUESTS": 300,
    "SARAMIN_DAILY_CALLS": 500,
    "LEASE_SECONDS": 600,
    "HOST_MIN_DELAY_MS": 1000,
    "RETRY_AFTER_CAP_SECONDS": 3600,
    "CONNECT_TIMEOUT_SECONDS": 5,
    "REQUEST_DEADLINE_SECONDS": 30,
    "MAX_RESPONSE_BYTES": 20_000_000,
    "SLA_CAPTURE_TOLERANCE_SECONDS": 60,
    "SLA_LATE_START_SECONDS": 5,
    "SEEN_RETENTION_HOURS": 48,
    "SEEN_CLEANUP_CHUNK_ROWS": 1000,
    "SOURCE_BROKEN_AFTER_DAYS": 3,
    "CLOSE_AFTER_MISSED_CYCLES": 2,
    "UNCONFIRMED_AFTER_DAYS": 7,
    "DAGSTER_BUSY_RUN_DAYS": 7,
    "DAGSTER_RUN_DAYS": 90,
    "HISTORY_DAYS": 400,
    "TICK_DAYS": 90,
    "WEBHOOK_DEADLINE_SECONDS": 10,
    "TABLE_GROWTH_ALARM_MB": 500,
    "LIBRARY_LEAST_SHARE_PERCENT": 80,
}
"""The table of spec section 3, and what came with webhook, libraries and checks."""
NOT_POSITIVE = ["0", "-1", "-0", "00"]
NOT_NUMBERS = ["ten", "1.5", "1e3", "0x10", "5s", "1_000", "１０", "+", "1 0", "9" * 5_000]


def refused(**environ: str) -> str:
    """The error text for these variables (named without the prefix)."""
    with pytest.raises(InvalidSetting) as caught:
        load_settings({PREFIX + name: value for name, value in environ.items()})
    return str(caught.value)


def test_defaults_are_those_of_the_specification() -> None:
    """Spec section 3, value by value, and no number beyond the table."""
    assert dict(load_settings({}).numbers) == DEFAULTS
    assert load_settings({}).sla_cutoff == time(9, 0)
    assert load_settings({}).simulation is False


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
@pytest.mark.parametrize("text", NOT_POSITIVE + NOT_NUMBERS, ids=lambda text: text[:8])
def test_zero_negative_and_words_are_refused_by_name(number: NumberSetting, text: str) -> None:
    """Spec section 3: refused at start; the message names the variable and its unit."""
    message = refused(**{number.name: text})
    assert PREFIX + number.name in message
    assert number.unit in message


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.name)
def test_a_number_is_taken_and_bounded(number: NumberSetting) -> None:
    """Spec section 3: the largest value holds, one more is refused."""
    others = {PREFIX + "LEASE_SECONDS": "86400", PREFIX + "SLICE_MAX_SECONDS": "1"}
    others[PREFIX + "REQUEST_DEADLINE_SECONDS"] = "1"
    name = PREFIX + number.name
    if number.name != "SLICE_MAX_SECONDS":  # its largest value needs a longer lease than there is
        settings = load_settings({**others, name: f" {number.highest} "})
        assert settings[number.name] == number.highest
    assert name in refused(**{number.name: str(number.highest + 1)})
    if number.name != "LEASE_SECONDS":  # its lowest value depends on others
        lowest = load_settings({**others, name: str(number.lowest)})
        assert lowest[number.name] == number.lowest
    assert f" from {number.lowest} to " in refused(**{number.name: str(number.lowest - 1)})


def test_history_is_kept_for_as_long_as_the_report_looks_back() -> None:
    """366 whole days before today, of which the first began 367 days ago."""
    assert {number.name: number.lowest for number in NUMBERS if number.lowest > 1} == {
        "HISTORY_DAYS": 367,
        "TICK_DAYS": 7,
    }


def test_raw_bodies_are_kept_unless_an_age_is_set() -> None:
    """What a platform sent cannot be had again."""
    assert load_settings({}).raw_body_days is None
    assert load_settings({PREFIX + "RAW_BODY_DAYS": " "}).raw_body_days is None
    assert load_settings({PREFIX + "RAW_BODY_DAYS": "180"}).raw_body_days == 180
    for text in ("0", "-1", "3651", "never"):
        assert PREFIX + "RAW_BODY_DAYS" in refused(RAW_BODY_DAYS=text)


@pytest.mark.parametrize("text", ["", "   "])
def test_a_blank_variable_is_the_default(text: str) -> None:
    """Spec section 3: compose files hand over empty variables."""
    assert load_settings({PREFIX + "TICK_CLAIM_LIMIT": text})["TICK_CLAIM_LIMIT"] == 10


def test_variables_without_the_prefix_do_not_count() -> None:
    """Spec section 3: prefix ``COLLECTION_``."""
    assert load_settings({"TICK_CLAIM_LIMIT": "0"})["TICK_CLAIM_LIMIT"] == 10


@pytest.mark.parametrize(
    ("slice_seconds", "deadline", "lease", "holds"),
    [
        (300, 30, 336, True),
        (300, 30, 335, False),
        (300, 30, 300, False),
        (555, 30, 591, True),
        (555, 30, 590, False),
    ],
)
def test_a_lease_must_outlast_a_slice_and_one_request(
    slice_seconds: int, deadline: int, lease: int, holds: bool
) -> None:
    """Spec section 3, LEASE_SECONDS: more than slice + deadline + 5 s margin."""
    environ = {
        "SLICE_MAX_SECONDS": str(slice_seconds),
        "REQUEST_DEADLINE_SECONDS": str(deadline),
        "LEASE_SECONDS": str(lease),
    }
    if holds:
        settings = load_settings({PREFIX + name: value for name, value in environ.items()})
        assert settings["LEASE_SECONDS"] == lease
        return
    assert f"{PREFIX}LEASE_SECONDS={lease}" in refused(**environ)


@pytest.mark.parametrize("platform", PLATFORM_PREFIXES)
@pytest.mark.parametrize("name", PLATFORM_NUMBERS)
def test_a_platform_overrides_its_own_number_only(platform: str, name: str) -> None:
    """Spec section 3: overridden by platform."""
    settings = load_settings({f"{PREFIX}{platform}_{name}": "7"})
    assert settings.for_platform(platform.lower(), name) == 7
    others = [other for other in PLATFORM_PREFIXES if other != platform]
    assert {settings.for_platform(other, name) for other in others} == {DEFAULTS[name]}
    assert settings[name] == DEFAULTS[name]


@pytest.mark.parametrize("platform", PLATFORM_PREFIXES)
@pytest.mark.parametrize("name", PLATFORM_NUMBERS)
@pytest.mark.parametrize("text", ["0", "-1", "many"])
def test_a_platforms_number_is_refused_like_the_general_one(
    platform: str, name: str, text: str
) -> None:
    """Spec section 3: overrides are checked too."""
    assert f"{PREFIX}{platform}_{name}" in refused(**{f"{platform}_{name}": text})


def test_the_library_has_a_delay_of_its_own_and_no_other_number() -> None:
    """Spec section 3: its host may be asked more slowly; it has no daily budget to override."""
    settings = load_settings(
        {
            f"{PREFIX}LIBRARY_HOST_MIN_DELAY_MS": "2500",
            f"{PREFIX}LIBRARY_DAILY_MAX_LIST_PAGES": "7",
        }
    )
    assert settings.for_platform("library", "HOST_MIN_DELAY_MS") == 2500
    assert settings.for_platform("library", "DAILY_MAX_LIST_PAGES") == 50
    assert settings.for_platform("wanted", "HOST_MIN_DELAY_MS") == 1000
    assert "LIBRARY_HOST_MIN_DELAY_MS" in refused(LIBRARY_HOST_MIN_DELAY_MS="0")


def test_budgets_follow_general_and_platform_numbers() -> None:
    """Spec section 3, R20."""
    settings = load_settings(
        {
            PREFIX + "SLICE_MAX_POSTINGS": "100",
            PREFIX + "DAILY_MAX_LIST_PAGES": "20",
            PREFIX + "JUMPIT_DAILY_MAX_LIST_PAGES": "40",
        }
    )
    assert settings.slice_budget == CollectionBudget(5, 100, 50)
    assert settings.daily_budget("wanted") == CollectionBudget(20, 5000, 300)
    assert settings.daily_budget("jumpit") == CollectionBudget(40, 5000, 300)
    assert settings.daily_budget("a newer platform") == CollectionBudget(20, 5000, 300)


@pytest.mark.parametrize(
    ("text", "is_on"),
    [("1", True), ("on", True), ("TRUE", True), ("0", False), ("off", False), ("", False)],
)
def test_simulation_is_off_unless_switched_on(text: str, is_on: bool) -> None:
    """R15, spec section 3."""
    assert load_settings({PREFIX + "SIMULATION": text}).simulation is is_on


@pytest.mark.parametrize("text", ["2", "yes please", "-1"])
def test_an_unclear_simulation_switch_is_refused(text: str) -> None:
    """R15."""
    assert f"{PREFIX}SIMULATION" in refused(SIMULATION=text)


def test_the_cutoff_is_a_time_of_day() -> None:
    """R38, spec section 3."""
    assert load_settings({PREFIX + "SLA_CUTOFF": "08:30"}).sla_cutoff == time(8, 30)


@pytest.mark.parametrize("text", ["9", "9:00", "24:00", "09:60", "0900", "noon", "-1:00", "0"])
def test_another_cutoff_is_refused_by_name(text: str) -> None:
    """R38."""
    assert f"{PREFIX}SLA_CUTOFF" in refused(SLA_CUTOFF=text)
