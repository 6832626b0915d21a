"""Every setting: its environment name, default, unit and bounds, in one flat list (spec section 3).

Values come from the environment with the prefix ``COLLECTION_``; secrets and the addresses of the
databases may also come from a file named by ``COLLECTION_<NAME>_FILE``. A wrong value is one clear
``InvalidSetting`` that names the variable and never shows a secret. Zero and negative numbers are
refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from collection_pipeline.domain.budget import CollectionBudget
from collection_pipeline.domain.lease import LEASE_MARGIN_SECONDS

PREFIX = "COLLECTION_"
USER_AGENT = "collection-pipeline/0.1 (+unattended job posting collection; contact the operator)"
PLATFORM_BASE_URLS = {
    "WANTED": "https://www.wanted.co.kr",
    "SARAMIN": "https://oapi.saramin.co.kr",
    "JUMPIT": "https://jumpit-api.saramin.co.kr",
    "GREENHOUSE": "https://boards-api.greenhouse.io",
    "LEVER": "https://api.lever.co",
    "LEVER_EU": "https://api.eu.lever.co",
    "LIBRARY": "https://api.data.go.kr",
}
PLATFORM_PREFIXES = ("WANTED", "SARAMIN", "JUMPIT", "GREENHOUSE", "LEVER")
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
DATABASE_SCHEMES = frozenset({"mysql", "mysql+pymysql", "mysql+mysqldb"})

_UNPLAIN = re.compile(r"[\x00-\x20\x7f\\]")
_PLACE = re.compile(
    r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?)(:[0-9]{1,5})?"
)

WEBHOOK_FORMATS = ("json", "slack")


class InvalidSetting(ValueError):
    """A setting whose value cannot be used; the message names the variable and says what to do."""


@dataclass(frozen=True)
class NumberSetting:
    """A positive number: ``name`` without the prefix, default, unit, and its bounds."""

    name: str
    default: int
    unit: str
    highest: int
    lowest: int = 1


NUMBERS = (
    NumberSetting("TICK_CLAIM_LIMIT", 10, "cycles", 1_000),
    NumberSetting("MAX_LEASES_PER_HOST", 3, "leases", 1_000),
    NumberSetting("SLICE_MAX_LIST_PAGES", 5, "pages", 10_000),
    NumberSetting("SLICE_MAX_POSTINGS", 500, "postings", 100_000),
    NumberSetting("SLICE_MAX_DETAIL_REQUESTS", 50, "requests", 10_000),
    NumberSetting("SLICE_MAX_SECONDS", 300, "seconds", 86_400),
    NumberSetting("DAILY_MAX_LIST_PAGES", 50, "pages", 100_000),
    NumberSetting("DAILY_MAX_POSTINGS", 5_000, "postings", 1_000_000),
    NumberSetting("DAILY_MAX_DETAIL_REQUESTS", 300, "requests", 1_000_000),
    NumberSetting("SARAMIN_DAILY_CALLS", 500, "calls", 1_000_000),
    NumberSetting("LEASE_SECONDS", 600, "seconds", 86_400),
    NumberSetting("HOST_MIN_DELAY_MS", 1_000, "milliseconds", 3_600_000),
    NumberSetting("RETRY_AFTER_CAP_SECONDS", 3_600, "seconds", 86_400),
    NumberSetting("CONNECT_TIMEOUT_SECONDS", 5, "seconds", 3_600),
    NumberSetting("REQUEST_DEADLINE_SECONDS", 30, "seconds", 3_600),
    NumberSetting("MAX_RESPONSE_BYTES", 20_000_000, "bytes", 1_000_000_000),
    NumberSetting("SLA_CAPTURE_TOLERANCE_SECONDS", 60, "seconds", 3_600),
    NumberSetting("SLA_LATE_START_SECONDS", 5, "seconds", 3_600),
    NumberSetting("SEEN_RETENTION_HOURS", 48, "hours", 8_760),
    NumberSetting("SEEN_CLEANUP_CHUNK_ROWS", 1_000, "rows", 100_000),
    NumberSetting("SOURCE_BROKEN_AFTER_DAYS", 3, "days", 365),
    NumberSetting("CLOSE_AFTER_MISSED_CYCLES", 2, "cycles", 365),
    NumberSetting("UNCONFIRMED_AFTER_DAYS", 7, "days", 365),
    NumberSetting("DAGSTER_BUSY_RUN_DAYS", 7, "days", 3_650),
    NumberSetting("DAGSTER_RUN_DAYS", 90, "days", 3_650),
    # The budget report looks back 366 whole days before today.
    NumberSetting("HISTORY_DAYS", 400, "days", 3_650, lowest=367),
    NumberSetting("TICK_DAYS", 90, "days", 3_650, lowest=7),
    NumberSetting("WEBHOOK_DEADLINE_SECONDS", 10, "seconds", 60),
    NumberSetting("TABLE_GROWTH_ALARM_MB", 500, "megabytes", 1_000_000),
    NumberSetting("LIBRARY_LEAST_SHARE_PERCENT", 80, "percent", 100),
)
_NUMBERS_BY_NAME = {number.name: number for number in NUMBERS}
PLATFORM_NUMBERS = (
    "DAILY_MAX_LIST_PAGES",
    "DAILY_MAX_POSTINGS",
    "DAILY_MAX_DETAIL_REQUESTS",
    "HOST_MIN_DELAY_MS",
)
"""Settings that ``COLLECTION_<PLATFORM>_<NAME>`` overrides for one platform."""
LIBRARY_NUMBERS = ("HOST_MIN_DELAY_MS",)
"""The library register has no daily budget, but a host to be polite to."""
MOST_RAW_BODY_DAYS = 3_650


@dataclass(frozen=True)
class Settings:
    """The values in force. Durations are in the unit of their name; secrets never show in repr."""

    numbers: Mapping[str, int]
    platform_numbers: Mapping[tuple[str, str], int]
    base_urls: Mapping[str, str]
    sla_cutoff: time = time(9, 0)
    simulation: bool = False
    raw_body_days: int | None = None
    webhook_format: str = "json"
    morning_hook: str | None = None
    dagster_ui_url: str | None = None
    operations_page_url: str | None = None
    database_url: str | None = field(default=None, repr=False)
    dagster_database_url: str | None = field(default=None, repr=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __getitem__(self, name: str) -> int:
        """The number called ``name`` (without the prefix)."""
        return self.numbers[name]

    def for_platform(self, platform: str, name: str) -> int:
        """The number called ``name`` as it holds for ``platform``."""
        return self.platform_numbers.get((platform.upper(), name), self.numbers[name])

    @property
    def slice_budget(self) -> CollectionBudget:
        """What one slice may request and keep."""
        return CollectionBudget(
            self["SLICE_MAX_LIST_PAGES"],
            self["SLICE_MAX_POSTINGS"],
            self["SLICE_MAX_DETAIL_REQUESTS"],
        )

    def daily_budget(self, platform: str) -> CollectionBudget:
        """What one cycle of ``platform`` may request and keep, before a source's own overrides."""
        return CollectionBudget(
            self.for_platform(platform, "DAILY_MAX_LIST_PAGES"),
            self.for_platform(platform, "DAILY_MAX_POSTINGS"),
            self.for_platform(platform, "DAILY_MAX_DETAIL_REQUESTS"),
        )


def load_settings(environ: Mapping[str, str]) -> Settings:
    """The settings in ``environ``; raises ``InvalidSetting`` for the first value that is wrong."""
    settings = Settings(
        numbers={number.name: _number(environ, number.name, number) for number in NUMBERS},
        platform_numbers=_platform_numbers(environ),
        base_urls={
            name: _base_url(environ, name, default) for name, default in PLATFORM_BASE_URLS.items()
        },
        sla_cutoff=_clock_time(environ, "SLA_CUTOFF", time(9, 0)),
        simulation=_switch(environ, "SIMULATION"),
        raw_body_days=_raw_body_days(environ),
        webhook_format=_choice(environ, "WEBHOOK_FORMAT", WEBHOOK_FORMATS),
        morning_hook=_function_name(environ, "MORNING_HOOK"),
        dagster_ui_url=_page_url(environ, "DAGSTER_UI_URL"),
        operations_page_url=_page_url(environ, "OPERATIONS_PAGE_URL"),
        database_url=load_database_url(environ, "DATABASE_URL"),
        dagster_database_url=load_database_url(environ, "DAGSTER_DATABASE_URL"),
        secrets=_secrets(environ),
    )
    _check_lease(settings)
    _check_webhook(settings.secrets.get("WEBHOOK_URL"))
    return settings


def _number(environ: Mapping[str, str], name: str, bounds: NumberSetting) -> int:
    text = environ.get(PREFIX + name, "").strip()
    if not text:
        return bounds.default
    is_number = re.fullmatch(r"[+-]?[0-9]{1,12}", text)
    if not is_number or not bounds.lowest <= int(text) <= bounds.highest:
        raise InvalidSetting(
            f"{PREFIX}{name}={text!r}: write a whole number of {bounds.unit} from "
            f"{bounds.lowest} to {bounds.highest}"
        )
    return int(text)


def _raw_body_days(environ: Mapping[str, str]) -> int | None:
    """``None`` where it is not set: what a platform sent cannot be had again, so it is kept."""
    name = "RAW_BODY_DAYS"
    if not environ.get(PREFIX + name, "").strip():
        return None
    return _number(environ, name, NumberSetting(name, 1, "days", MOST_RAW_BODY_DAYS))


def _platform_numbers(environ: Mapping[str, str]) -> dict[tuple[str, str], int]:
    named = [(platform, name) for platform in PLATFORM_PREFIXES for name in PLATFORM_NUMBERS]
    return {
        (platform, name): _number(environ, f"{platform}_{name}", _NUMBERS_BY_NAME[name])
        for platform, name in (*named, *(("LIBRARY", name) for name in LIBRARY_NUMBERS))
        if environ.get(f"{PREFIX}{platform}_{name}", "").strip()
    }


def _base_url(environ: Mapping[str, str], name: str, default: str) -> str:
    variable = f"{PREFIX}{name}_BASE_URL"
    text = environ.get(variable, "").strip() or default
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        raise InvalidSetting(f"{variable}: not a URL; write scheme, host and port") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidSetting(f"{variable}: write scheme, host and port, such as https://host:443")
    if not _is_plain(text, parts):
        raise InvalidSetting(
            f"{variable}: write the host in ASCII letters (an international name in its xn-- form) "
            "and a port from 1 to 65535"
        )
    if "@" in parts.netloc or parts.path.strip("/") or parts.query or parts.fragment:
        raise InvalidSetting(f"{variable}: only scheme, host and port, without path or user")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK_HOSTS:
        raise InvalidSetting(f"{variable}: http is allowed for loopback only; use https")
    return f"{parts.scheme}://{parts.netloc}"


def _is_plain(url: str, parts: SplitResult) -> bool:
    """Whether every reader of URLs finds the same host in it.

    Of ``http://a\\@b`` one takes ``a`` for the host and another ``b``: the checks would see the
    one, and the HTTP library ask the other.
    """
    place = parts.netloc.rpartition("@")[2]
    return not _UNPLAIN.search(url) and bool(_PLACE.fullmatch(place)) and parts.port != 0


def _clock_time(environ: Mapping[str, str], name: str, default: time) -> time:
    text = environ.get(PREFIX + name, "").strip()
    if not text:
        return default
    if not re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", text):
        raise InvalidSetting(f"{PREFIX}{name}={text!r}: write a KST time as HH:MM")
    return time.fromisoformat(text)


def _switch(environ: Mapping[str, str], name: str) -> bool:
    text = environ.get(PREFIX + name, "").strip().lower()
    if text in {"", "0", "off", "false"}:
        return False
    if text in {"1", "on", "true"}:
        return True
    raise InvalidSetting(f"{PREFIX}{name}={text!r}: write 1 or 0")


def _choice(environ: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str:
    text = environ.get(PREFIX + name, "").strip().lower() or choices[0]
    if text not in choices:
        raise InvalidSetting(f"{PREFIX}{name}={text!r}: write {' or '.join(choices)}")
    return text


def _function_name(environ: Mapping[str, str], name: str) -> str | None:
    text = environ.get(PREFIX + name, "").strip()
    if text and not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", text):
        raise InvalidSetting(f"{PREFIX}{name}={text!r}: write package.module:function")
    return text or None


def _page_url(environ: Mapping[str, str], name: str) -> str | None:
    text = environ.get(PREFIX + name, "").strip().rstrip("/")
    if not text:
        return None
    if not re.fullmatch(r"https?://[^\s/@?#\"'<>]+(/[^\s@?#\"'<>]*)?", text):
        raise InvalidSetting(f"{PREFIX}{name}: write the address of a page, such as https://host")
    return text


def _check_webhook(url: str | None) -> None:
    """The address is a secret: it is judged here and never shown."""
    if url is None:
        return
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        parts = urlsplit("")
    is_local = parts.scheme == "http" and parts.hostname in LOOPBACK_HOSTS
    is_right = is_local or (parts.scheme == "https" and parts.hostname)
    if not is_right or not _is_plain(url, parts) or re.search(r"\s", url):
        raise InvalidSetting(
            f"{PREFIX}WEBHOOK_URL: write an https address (http for loopback only)"
        )


def load_database_url(environ: Mapping[str, str], name: str) -> str | None:
    """The address called ``name``, from its variable or its file; raises ``InvalidSetting``."""
    text = _secret(environ, name)
    if not text:
        return None
    try:
        parts = urlsplit(text)
        names_server = bool(parts.hostname or "unix_socket" in parts.query)
        # A password with a bare @, / or # would be taken apart, and shown as host or database.
        is_quoted = text.count("@") <= 1 and not parts.fragment
        complete = names_server and is_quoted and bool(parts.path.strip("/"))
        _ = parts.port
    except ValueError:
        complete, parts = False, urlsplit("")
    if not complete or parts.scheme not in DATABASE_SCHEMES:
        raise InvalidSetting(
            f"{PREFIX}{name}: write mysql://user:password@host:port/database "
            "(also mysql+pymysql:// or mysql+mysqldb://; quote special characters of the password)"
        )
    return text


SECRET_NAMES = ("SARAMIN_ACCESS_KEY", "LIBRARY_SERVICE_KEY", "WEBHOOK_URL", "OPERATIONS_TOKEN")


def _secrets(environ: Mapping[str, str]) -> dict[str, str]:
    found = {name: _secret(environ, name) for name in SECRET_NAMES}
    return {name: value for name, value in found.items() if value}


def _secret(environ: Mapping[str, str], name: str) -> str:
    direct = environ.get(PREFIX + name, "").strip()
    file_name = environ.get(f"{PREFIX}{name}_FILE", "").strip()
    if direct and file_name:
        raise InvalidSetting(f"set either {PREFIX}{name} or {PREFIX}{name}_FILE, not both")
    if not file_name:
        return direct
    try:
        return Path(file_name).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidSetting(f"{PREFIX}{name}_FILE: the file cannot be read") from None


def _check_lease(settings: Settings) -> None:
    needed = (
        settings["SLICE_MAX_SECONDS"] + settings["REQUEST_DEADLINE_SECONDS"] + LEASE_MARGIN_SECONDS
    )
    if settings["LEASE_SECONDS"] <= needed:
        raise InvalidSetting(
            f"{PREFIX}LEASE_SECONDS={settings['LEASE_SECONDS']}: must exceed "
            f"SLICE_MAX_SECONDS + REQUEST_DEADLINE_SECONDS + {LEASE_MARGIN_SECONDS:g} s margin "
            f"= {needed:g}; raise it or lower the others"
        )
