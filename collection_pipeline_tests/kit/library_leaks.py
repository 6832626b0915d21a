"""A planted service key, and every way in which the portal's answer may carry it back.

Invariant: the key's core is an ordinary word, so it stands in every spelling of the key: raw,
percent-encoded, encoded twice, or cut.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.leak_search import LeakSearch

CORE = "pl4ntedSERVICEcore"
KEY = f"{CORE}+/with+signs/and=="
ENCODED = f"{CORE}%2B%2Fwith%2Bsigns%2Fand%3D%3D"
CARRIERS: list[dict[str, Any]] = [
    *(
        {"name": "key_echo", "encoding": encoding, "status": status}
        for encoding, status in (
            ("raw", 200),
            ("raw", 500),
            ("percent", 403),
            ("double", 200),
            ("double", 500),
        )
    ),
    *(
        {"name": "library_error", "carrier": carrier, "code": 30}
        for carrier in ("gateway_xml", "gateway_json", "service", "flat")
    ),
    {"name": "changed_envelope", "to": KEY},
    {"name": "http_429", "retry_after": KEY},
    {"name": "redirect"},
    {"name": "redirect", "location": f"/openapi/tn_pubr_public_lbrry_api?serviceKey={ENCODED}"},
    {"name": "captcha"},
    {"name": "empty_body"},
    {"name": "broken_json"},
    {"name": "truncated_gzip"},
    {"name": "oversize"},
    {"name": "reset"},
    {"name": "reset_midbody"},
    {"name": "timeout"},
]


def leaks_in(texts: Iterable[object]) -> list[str]:
    """Where the key stands in ``texts``, in any form or cut to its core."""
    search = LeakSearch({"the service key": KEY})
    return [
        str(leak)
        for number, shown in enumerate(texts)
        for leak in search.in_text(f"text {number}", shown)
    ]


@contextmanager
def opened_portal() -> Iterator[SimulatorServer]:
    """A register that accepts the planted key only."""
    register = {"base_date": "2026-12-01", "library": {"count": 40}}
    with SimulatorServer(scenario=register, service_key=KEY) as server:
        yield server


def portal_settings(portal: SimulatorServer, key: str) -> dict[str, object]:
    """Settings that point to it with ``key`` as the portal hands it out, impatient ones."""
    return {
        "LIBRARY_BASE_URL": portal.base_url,
        "LIBRARY_SERVICE_KEY": key,
        "REQUEST_DEADLINE_SECONDS": 1,
        "CONNECT_TIMEOUT_SECONDS": 1,
        "RETRY_AFTER_CAP_SECONDS": 1,
    }
