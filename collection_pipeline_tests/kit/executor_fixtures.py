"""Small makers for tests of the executor: settings, requests and failures as values."""

import dataclasses
from collections.abc import Callable

from collection_pipeline.platforms.contract import (
    PlatformReply,
    PlatformRequest,
    RequestFailed,
    RequestPolicy,
)
from collection_pipeline.platforms.wire.requests_sender import RequestsSender
from collection_pipeline.settings import Settings, load_settings
from collection_pipeline_tests.kit.hostile_server import HostileServer, Script

ANY_PATH = RequestPolicy(path_pattern=r"/[a-z0-9/._~%-]*")


def make_settings(**values: int | str) -> Settings:
    """Defaults, with ``values`` set as the environment would set them."""
    return load_settings({f"COLLECTION_{name}": str(value) for name, value in values.items()})


def with_secret(settings: Settings, secret: str) -> Settings:
    """``settings`` that hold ``secret`` as Saramin's access key."""
    return dataclasses.replace(settings, secrets={"SARAMIN_ACCESS_KEY": secret})


def get(base_url: str, path: str = "/jobs", **changes: object) -> PlatformRequest:
    """A request; ``changes`` are fields of ``PlatformRequest``."""
    return dataclasses.replace(PlatformRequest(base_url, path), **changes)  # type: ignore[arg-type]  # by name


def failure_of(call: Callable[[], PlatformReply]) -> RequestFailed:
    """The ``RequestFailed`` that ``call`` raises; a reply instead is an error of the test."""
    try:
        answer = call()
    except RequestFailed as failed:
        return failed
    raise AssertionError(f"no failure but status {answer.status}")


def failure_to_send(
    sender: RequestsSender, request: PlatformRequest, deadline_seconds: float = 5.0
) -> RequestFailed:
    """How sending ``request`` under a policy that allows it fails."""
    return failure_of(lambda: sender.send(request, ANY_PATH, deadline_seconds))


def send_to(script: Script, deadline_seconds: float = 5.0, **settings: int) -> PlatformReply:
    """The reply of a server that runs ``script``."""
    with HostileServer(script) as server, RequestsSender(make_settings(**settings)) as sender:
        return sender.send(get(server.base_url), ANY_PATH, deadline_seconds)
