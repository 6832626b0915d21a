"""What the policy refuses is refused before anything is sent (R28)."""

import pytest

from collection_pipeline.platforms.contract import PlatformRequest, RequestPolicy
from collection_pipeline.platforms.wire.policy import host_key, is_same_target, policy_refusal
from collection_pipeline_tests.kit.executor_fixtures import get

POLICY = RequestPolicy(r"/api/v4/jobs(/[0-9]+)?", {"limit": 100})
ORIGIN = "https://www.wanted.co.kr"


@pytest.mark.parametrize(
    "request_",
    [
        get(ORIGIN, "/api/v4/jobs"),
        get(ORIGIN, "/api/v4/jobs/17", params=(("limit", "100"), ("offset", "5000"))),
        get(ORIGIN + "/", "/api/v4/jobs"),
        get("http://127.0.0.1:8080", "/api/v4/jobs"),
        get("http://localhost", "/api/v4/jobs"),
        get("http://[::1]:8080", "/api/v4/jobs"),
    ],
)
def test_a_request_within_the_policy_may_be_sent(request_: PlatformRequest) -> None:
    """R28."""
    assert policy_refusal(request_, POLICY) is None


@pytest.mark.parametrize(
    "request_",
    [
        get("http://www.wanted.co.kr", "/api/v4/jobs"),
        get("ftp://www.wanted.co.kr", "/api/v4/jobs"),
        get("https://user:word@www.wanted.co.kr", "/api/v4/jobs"),
        get("https://www.wanted.co.kr/api", "/api/v4/jobs"),
        get("https://www.wanted.co.kr?x", "/api/v4/jobs"),
        get("https://www.wanted.co.kr:99999", "/api/v4/jobs"),
        get("https://", "/api/v4/jobs"),
        get("http://127.0.0.1.example.com", "/api/v4/jobs"),
        get(ORIGIN, "/api/v4/users"),
        get(ORIGIN, "/api/v4/jobs/"),
        get(ORIGIN, "/api/v4/jobs/17/../../users"),
        get(ORIGIN, "/api/v4/jobs\n"),
        get(ORIGIN, "/api/v4/jobs?limit=1000"),
        get(ORIGIN, "/api/v4/jobs#x"),
        get(ORIGIN, params=(("limit", "101"),), path="/api/v4/jobs"),
        get(ORIGIN, "/api/v4/jobs", params=(("limit", "0"),)),
        get(ORIGIN, "/api/v4/jobs", params=(("limit", "-1"),)),
        get(ORIGIN, "/api/v4/jobs", params=(("limit", "1e2"),)),
        get(ORIGIN, "/api/v4/jobs", params=(("limit", "10"), ("limit", "1000"))),
        get(ORIGIN, "/api/v4/jobs", secret_params=(("limit", "1000"),)),
        get(ORIGIN, "/api/v4/jobs", headers={"Host": "elsewhere.example"}),
        get(ORIGIN, "/api/v4/jobs", headers={"transfer-encoding": "chunked"}),
    ],
)
def test_a_request_outside_the_policy_may_not_be_sent(request_: PlatformRequest) -> None:
    """R28: scheme, host, path, page size, and headers that would redirect the request."""
    assert policy_refusal(request_, POLICY) is not None


@pytest.mark.parametrize("path", ["//x", "/./x", "/a/..", "/a%2e%2e/b", "/a%2Fb", "/a\\b", "x", ""])
def test_even_a_generous_pattern_does_not_let_a_path_wander(path: str) -> None:
    """R28: libraries and servers normalise these to another path than the one checked."""
    assert policy_refusal(get(ORIGIN, path), RequestPolicy(".*")) is not None


def test_the_host_key_has_the_port_only_where_it_is_not_the_schemes_own() -> None:
    """R26."""
    assert host_key("https://API.lever.co") == "api.lever.co"
    assert host_key("https://api.lever.co:443") == "api.lever.co"
    assert host_key("https://api.lever.co:8443") == "api.lever.co:8443"
    assert host_key("http://127.0.0.1:8080") == "127.0.0.1:8080"
    assert host_key("http://127.0.0.1:80") == "127.0.0.1"
    assert host_key("http://[::1]:8080") == "[::1]:8080"


def test_a_url_that_the_library_rewrote_is_another_target() -> None:
    """R28: what was checked is what is sent."""
    request = get(ORIGIN, "/api/v4/jobs")
    assert is_same_target(ORIGIN + "/api/v4/jobs?limit=1", request)
    assert is_same_target(ORIGIN + ":443/api/v4/jobs", request)
    assert not is_same_target(ORIGIN + "/api/v4/users", request)
    assert not is_same_target("https://www.wanted.co.kr:444/api/v4/jobs", request)
    assert not is_same_target("http://www.wanted.co.kr/api/v4/jobs", request)
