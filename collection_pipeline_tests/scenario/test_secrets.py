"""A planted key comes back in no table, no output and no log, however the platform fails (R29)."""

import json
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from collection_pipeline_tests.kit.invariants import assert_invariants, secrets_in, spellings
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.worker_process import TICK, WorkerProcess
from collection_pipeline_tests.scenario.conftest import OpenStack

KEY = "Qk7+ab/cd=ef%41 gh&ij\"kl<mn>'op"
TOKEN = "operations+token/with=specials%"
FAULTS: list[dict[str, Any]] = [
    *(
        {"name": "key_echo", "encoding": encoding, "status": status}
        for encoding in ("raw", "percent", "double")
        for status in (200, 403, 500)
    ),
    {"name": "http_429", "retry_after": KEY},
    {"name": "redirect"},
    {"name": "redirect", "location": f"/job-search?access-key={KEY}"},
    {"name": "timeout"},
    {"name": "reset"},
    {"name": "reset_midbody"},
    {"name": "captcha"},
    {"name": "broken_json"},
    {"name": "changed_envelope", "to": KEY},
    {"name": "truncated_gzip"},
    {"name": "oversize"},
    {"name": "error_body", "code": 2},
    {"name": "slow", "seconds": 0.3, "part": "headers"},
]


@pytest.mark.parametrize("level", ["WARNING", "DEBUG"])
def test_no_secret_is_written_anywhere_in_whatever_way_a_day_fails(
    open_stack: OpenStack, level: str
) -> None:
    """I9: tables, both outputs with every library logging, raw, percent and doubly encoded."""
    keys = [f"search{number}" for number in range(len(FAULTS) + 1)]
    stack = open_stack(
        *(source("saramin", key, 120) for key in keys),
        access_key=KEY,
        OPERATIONS_TOKEN=TOKEN,
        REQUEST_DEADLINE_SECONDS=2,
        RETRY_AFTER_CAP_SECONDS=1,
    )
    for key in keys:
        stack.add("saramin", key)
    for key, fault in zip(keys, FAULTS, strict=False):
        stack.simulator.add_fault({**fault, "key": key})

    with WorkerProcess(stack.environment, TICK, log_level=level) as worker:
        assert worker.wait() == 0, worker.output
        output = worker.output

    ends = {stack.end_of(source_id)[0] for source_id in stack.sources}
    assert ends == {"FAILED", "SUCCESS"}
    assert all(record["key_ok"] for record in stack.requests()), "the key was not really sent"
    if level == "DEBUG":
        assert "urllib3" in output
    assert_invariants(
        stack, bodies_as_logged=False, secrets=[KEY, TOKEN, password_of(stack.url)], texts=[output]
    )


def test_an_unexpected_error_of_a_command_shows_no_secret(open_stack: OpenStack) -> None:
    """R29: neither a refused database nor a refused setting repeats what it was given."""
    stack = open_stack()
    secret = "pass+word/=%41"
    environments = [
        {"COLLECTION_DATABASE_URL": "mysql://user:pass%2Bword%2F%3D%2541@127.0.0.1:1/none"},
        {"COLLECTION_DATABASE_URL": "postgres://user:pass%2Bword%2F%3D%2541@127.0.0.1:1/none"},
        {"COLLECTION_SARAMIN_BASE_URL": "http://user:pass%2Bword%2F%3D%2541@127.0.0.1:1"},
        {"COLLECTION_SARAMIN_ACCESS_KEY": secret, "COLLECTION_SARAMIN_ACCESS_KEY_FILE": secret},
    ]
    for changed in environments:
        with WorkerProcess({**stack.environment, **changed}, TICK, log_level="DEBUG") as worker:
            assert worker.wait() == 3, worker.output
            assert not secrets_in([worker.output], [secret])


def test_the_search_for_secrets_finds_every_spelling() -> None:
    """I9: the check above can fail; each spelling in which a key travels is one it looks for."""
    forms = spellings("a+b/c=%d")
    assert {"a+b/c=%d", "a%2Bb%2Fc%3D%25d", "a%2bb%2fc%3d%25d", "a%252Bb%252Fc%253D%2525d"} <= forms
    for secret in ("a+b/c=%d", KEY):
        for form in spellings(secret):
            for holder in ({"text": f"x{form}y"}, [(1, f"x{form}y")], f"x{form}y".encode()):
                assert secrets_in([holder], [secret]), form
    assert secrets_in([f"GET {KEY!r}"], [KEY]) and secrets_in([json.dumps([KEY])], [KEY])
    assert not secrets_in(["nothing"], ["a+b/c=%d"])


def password_of(url: str) -> str:
    """The database password in a URL, as it was before quoting."""
    return str(make_url(url).password)
