"""Secrets of every kind travel through every failure and come back nowhere (R29, I9).

The judge is ``kit/leak_search``, which ``test_leak_search`` shows to be able to find.
"""

import traceback
from collections.abc import Callable, Iterator
from datetime import time
from functools import partial
from pathlib import Path
from typing import Any

import dagster as dg
import httpx
import pytest

from collection_pipeline import checkpoints
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.orchestration.library_job import library_ingest
from collection_pipeline.simulator.server import SimulatorServer
from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.dagster_runs import run_job
from collection_pipeline_tests.kit.dagster_world import dagster_environment, opened_instance
from collection_pipeline_tests.kit.leak_search import assert_no_secret
from collection_pipeline_tests.kit.library_leaks import (
    CARRIERS,
    KEY,
    opened_portal,
    portal_settings,
)
from collection_pipeline_tests.kit.library_stack import MONTHLY
from collection_pipeline_tests.kit.log_watching import log_everything, logged_by_the_test
from collection_pipeline_tests.kit.operations_client import RUNS_PATH, opened_operations
from collection_pipeline_tests.kit.planted_secrets import (
    SARAMIN_KEY,
    SECRETS,
    TOKEN,
    WRONG_PASSWORD,
    PlantedUrls,
    planted_accounts,
)
from collection_pipeline_tests.kit.proof import is_long, record, tries
from collection_pipeline_tests.kit.proxy import DatabaseProxy
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack
from collection_pipeline_tests.kit.webhook_receiver import (
    SECRET_PATH,
    Answering,
    WebhookReceiver,
    cut_off,
    no_http,
    reset,
    status,
)
from collection_pipeline_tests.kit.worker_process import TICK, WorkerProcess

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

PLATFORM_FAULTS: list[dict[str, Any]] = [
    *(
        {"name": "key_echo", "encoding": encoding, "status": status_}
        for encoding in ("raw", "percent", "double")
        for status_ in (200, 403, 500)
    ),
    {"name": "http_429", "retry_after": SARAMIN_KEY},
    {"name": "redirect"},
    {"name": "redirect", "location": f"/job-search?access-key={SARAMIN_KEY}"},
    {"name": "timeout"},
    {"name": "reset"},
    {"name": "reset_midbody"},
    {"name": "captcha"},
    {"name": "broken_json"},
    {"name": "changed_envelope", "to": SARAMIN_KEY},
    {"name": "truncated_gzip"},
    {"name": "oversize"},
    {"name": "error_body", "code": 2},
    {"name": "slow", "seconds": 0.3, "part": "headers"},
]
FAST_CARRIERS = 5
HOOK_ANSWERS: list[Answering] = [
    status("500 No", f"no such hook {SECRET_PATH}".encode()),
    status("302 Found", b"", f"Location: https://elsewhere.test{SECRET_PATH}"),
    reset,
    cut_off,
    no_http,
]
SETTINGS = {
    "OPERATIONS_TOKEN": TOKEN,
    "REQUEST_DEADLINE_SECONDS": 2,
    "CONNECT_TIMEOUT_SECONDS": 1,
    "RETRY_AFTER_CAP_SECONDS": 1,
    "WEBHOOK_DEADLINE_SECONDS": 2,
}
DEFECTS: list[tuple[str, dict[str, object] | None, str]] = [
    (library_ingest.name, MONTHLY, "collection_pipeline.ingest.service.LibraryIngest.run"),
    (
        "collection_dispatch",
        {"drain": True},
        "collection_pipeline.collection.slice_processor.CollectionSliceProcessor.process",
    ),
    (
        "daily_cycle_creation",
        None,
        "collection_pipeline.collection.creation.CollectionCycleDomainService.create_daily_cycles",
    ),
]
"""Job, its run configuration, and what in it is made to fail."""
PATHS = (
    *("/", "/?lang=en", "/postings", "/postings/1", "/sources/1", "/healthz", "/metrics"),
    *(RUNS_PATH, f"{RUNS_PATH}?limit=0", "/openapi.json", "/static/style.css", "/nowhere"),
)


class World:
    """A stack with every secret planted, and what was said, raised, logged and answered in it."""

    def __init__(
        self,
        stack: Stack,
        portal: SimulatorServer,
        hook: WebhookReceiver,
        urls: PlantedUrls,
        home: Path,
    ) -> None:
        self.stack, self.portal, self.hook = stack, portal, hook
        self.urls, self.home = urls, home
        self.texts: dict[str, object] = {}
        self.answers: list[httpx.Response] = []

    def said(self, name: str, shown: object) -> None:
        """Keep a text to be searched."""
        self.texts[f"{name} ({len(self.texts)})"] = shown

    def worker(self, name: str, *, level: str = "DEBUG", **settings: str) -> int:
        """One drained tick in a process of its own, its title looked at; its exit code."""
        changed = {f"COLLECTION_{key}": text for key, text in settings.items()}
        environment = {**self.stack.environment, **changed}
        with WorkerProcess(environment, TICK, log_level=level) as worker:
            worker.wait_for("started")
            assert_no_secret(SECRETS, pids=[worker.pid])
            code = worker.wait()
            self.said(name, worker.output)
        return code


@pytest.fixture
def world(
    database_server: PrivateServer, store_url: str, dagster_url: str, tmp_path: Path
) -> Iterator[World]:
    """Both databases under planted accounts, platforms and webhook with planted keys."""
    catalogues = [source("saramin", f"s{n}", 120) for n in range(len(PLATFORM_FAULTS) + 1)]
    with (
        planted_accounts(database_server, store_url, dagster_url) as urls,
        opened_portal() as portal,
        WebhookReceiver(*HOOK_ANSWERS) as hook,
    ):
        settings: dict[str, Any] = {
            **portal_settings(portal, KEY),
            **SETTINGS,
            "WEBHOOK_URL": hook.url,
        }
        with opened_stack(urls.url, catalogues, access_key=SARAMIN_KEY, **settings) as stack:
            yield World(stack, portal, hook, urls, tmp_path / "home")


def test_no_secret_is_anywhere_after_a_world_of_failures(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """R29, I9: tables of both databases, events, logs, outputs, answers, files, process titles."""
    log_everything(caplog)
    fail_the_platform(world)
    fail_the_register(world)
    fail_the_webhook(world)
    fail_the_database(world)
    fail_in_dagster(world, monkeypatch)
    ask_everything(world)
    printed = capfd.readouterr()
    world.said("this process", printed.out + printed.err)
    world.said("the log", logged_by_the_test(caplog))
    searched = assert_no_secret(
        SECRETS,
        databases=(world.urls.url, world.urls.dagster_url),
        folders=[world.home],
        texts=world.texts,
        answers=world.answers,
    )
    record("secrets", values_searched=searched, secrets_planted=len(SECRETS))


def fail_the_platform(world: World) -> None:
    """Each fault of a source's own, with every library logging all it can."""
    stack = world.stack
    keys = [f"s{number}" for number in range(len(PLATFORM_FAULTS) + 1)]
    for key in keys:
        stack.add("saramin", key)
    for key, fault in zip(keys, PLATFORM_FAULTS, strict=False):
        stack.simulator.add_fault({**fault, "platform": "saramin", "key": key})
    levels = ("DEBUG", "WARNING") if is_long() else ("DEBUG",)
    for number, level in enumerate(levels, 1):
        if number > 1:
            stack.set_clock(number)
        assert world.worker(f"a tick at {level}", level=level) == 0
    assert {stack.end_of(one)[0] for one in stack.sources} == {"FAILED", "SUCCESS"}
    assert all(record_["key_ok"] for record_ in stack.requests()), "the key was not really sent"
    assert "urllib3" in str(world.texts["a tick at DEBUG (0)"])


def fail_the_register(world: World) -> None:
    """The library key, through the command line."""
    cli = CommandLine(world.stack.environment)
    for fault in CARRIERS[: tries(FAST_CARRIERS, long=len(CARRIERS))]:
        world.portal.add_fault(fault)
        said = cli("ingest", "--deactivate-stale", "--json")
        world.portal.clear_faults()
        assert said.code in (4, 75), said
        world.said("an ingest", said.out + said.err)
    assert all(one["key_ok"] for one in world.portal.records()), "the key was not really sent"


def fail_the_webhook(world: World) -> None:
    """The morning was missed; the message meets one bad answer after the other."""
    stack = world.stack
    stack.set_clock(3, time(9, 3))
    errors = 0
    for _ in HOOK_ANSWERS:
        world.said("a tick's summary", repr(stack.tick()))
        errors += stack.value(
            "SELECT COUNT(*) FROM notification_outbox WHERE last_error IS NOT NULL"
        )
        stack.pass_time(hours=1)
    sent = len(world.hook.messages)
    # The long set has two days of failures, each with a message, and delivers both in the end.
    assert sent > len(HOOK_ANSWERS) if is_long() else sent == len(HOOK_ANSWERS)
    assert errors > 0


def fail_the_database(world: World) -> None:
    """Refused by its password, nobody there, and sessions cut while slices are worked."""
    nobody = world.urls.wrong.replace("@127.0.0.1:", "@127.0.0.1:1")
    assert world.worker("a refused login", DATABASE_URL=world.urls.wrong) == 3
    cli = CommandLine({**world.stack.environment, "COLLECTION_DATABASE_URL": world.urls.wrong})
    for command in (("check",), ("doctor",), ("cycles",), ("tick",), ("ingest",)):
        said = cli(*command, DAGSTER_DATABASE_URL=nobody)
        assert said.code == 3, said
        world.said(" ".join(command), said.out + said.err)
    world.stack.set_clock(4)
    port = int(world.urls.url.split("@127.0.0.1:")[1].split("/")[0])
    with DatabaseProxy(port) as proxy:
        environment = {
            **world.stack.environment,
            "COLLECTION_DATABASE_URL": proxy.url(world.urls.url),
        }
        with WorkerProcess(environment, TICK, log_level="DEBUG") as worker:
            worker.wait_for(checkpoints.AFTER_CLAIM)
            # Every session breaks under its work; without the way back the tick would try for the
            # ten minutes of its lease.
            proxy.cut()
            proxy.restore()
            assert worker.wait() in (0, 4), worker.output
            world.said("a cut database", worker.output)
        world.stack.pass_time(hours=1)


def fail_in_dagster(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that fail by the platform, by the database, and by a defect that quotes everything."""
    environment = dagster_environment(world.stack.environment, world.urls.dagster_url, world.home)
    with opened_instance(environment) as instance:
        assert run_job("collection_dispatch", instance, {"drain": True}).success
        world.portal.add_fault(CARRIERS[0])
        fails(world, lambda: run_job(library_ingest.name, instance, MONTHLY))
        with monkeypatch.context() as wrong:
            wrong.setenv("COLLECTION_DATABASE_URL", world.urls.wrong)
            fails(world, lambda: run_job("collection_dispatch", instance, {"drain": True}))
        for job, config, defect in DEFECTS:
            with monkeypatch.context() as defective:
                defective.setattr(defect, quoting)
                world.stack.pass_time(hours=25)
                fails(world, partial(run_job, job, instance, config))
        statuses = [run.status for run in instance.get_runs()]
        assert statuses.count(dg.DagsterRunStatus.FAILURE) == 2 + len(DEFECTS)
        # The instance empties its tables when it is closed.
        assert_no_secret(SECRETS, databases=[world.urls.dagster_url])


def fails(world: World, work: Callable[[], object]) -> None:
    """What it raised is searched too, with causes and contexts."""
    with pytest.raises(Exception) as raised:
        work()
    world.said("what Dagster raised", "".join(traceback.format_exception(raised.value)))


def quoting(*_arguments: object, **_named: object) -> object:
    """A defect whose message repeats every secret that this process was given."""
    given = [text for name, text in SECRETS.items() if name != "the wrong password"]
    raise RuntimeError(" ".join(given))


def ask_everything(world: World) -> None:
    """Each address with and without the token; then with a database that refuses the login."""
    for url in (world.urls.url, world.urls.wrong):
        with opened_operations(url, token=TOKEN, dagster_url=world.urls.wrong) as operations:
            for headers in ({}, {b"Authorization": f"Bearer {TOKEN}".encode()}):
                world.answers += [operations.client.get(one, headers=headers) for one in PATHS]
    found = {answer.status_code for answer in world.answers}
    assert found >= {200, 401, 404, 422, 503}
    assert WRONG_PASSWORD in SECRETS.values()
