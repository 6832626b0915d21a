"""Two ingests at once, and ingests that die: processes on one database (R48, R49)."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from collection_pipeline import checkpoints
from collection_pipeline_tests.kit import library_entry
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.library_rows import csv_text, library_rows
from collection_pipeline_tests.kit.library_world import LibraryWorld
from collection_pipeline_tests.kit.worker_process import WorkerProcess

ACTIVE = 100


@pytest.fixture
def world(store: Store) -> LibraryWorld:
    """A register of 100 active libraries, seen by the test's own process."""
    made = LibraryWorld(store)
    made.load(library_rows(range(ACTIVE)))
    return made


def ingesting(world: LibraryWorld, *arguments: object, **options: Any) -> WorkerProcess:
    """An ingest of libraries 10 to 109, edition 1, in a process of its own."""
    return WorkerProcess(
        {"COLLECTION_DATABASE_URL": world.store.url},
        tuple(str(one) for one in arguments or ("library", 10, 110, 1)),
        module=library_entry.__name__,
        **options,
    )


def said(process: WorkerProcess) -> dict[str, Any]:
    """What a process that ended well reported."""
    assert process.wait() == 0, process.output
    found = json.loads(process.printed)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("second", ["library", "csv"])
def test_of_two_ingests_at_once_one_works_and_one_is_skipped(
    world: LibraryWorld, tmp_path: Path, second: str
) -> None:
    """R48: whatever their sources; both end with 0, and the skipped one wrote only its row."""
    file = tmp_path / "a.csv"
    file.write_text(csv_text(library_rows(range(10, 110), edition=1)))
    arguments = ("library", 10, 110, 1) if second == "library" else ("csv", 0, 0, 0, file)
    stopped = {"crash_at": checkpoints.AFTER_LIBRARY_PAGE, "crash_signal": signal.SIGSTOP}
    with ingesting(world, on_pass=2, **stopped) as holder:
        holder.wait_for(checkpoints.AFTER_LIBRARY_PAGE, 2)
        holder.wait_until_stopped()
        before = world.register()
        with ingesting(world, *arguments) as other:
            skipped = said(other)
        assert (skipped["status"], skipped["fetched"]) == ("SKIPPED", 0)
        assert skipped["reason"].startswith("busy")
        assert world.register() == before
        holder.send(signal.SIGCONT)
        worked = said(holder)
    assert (worked["status"], worked["changed"], worked["deactivated"]) == ("SUCCESS", 90, 10)
    statuses = [(run["source"], run["run_status"]) for run in world.runs()[1:]]
    assert statuses == [("library", "SUCCESS"), (second, "SKIPPED")]


@pytest.mark.parametrize(
    ("point", "is_written"),
    [
        (checkpoints.AFTER_LIBRARY_PAGE, False),
        (checkpoints.AFTER_LIBRARY_CHUNK, True),
        (checkpoints.BEFORE_LIBRARY_COMMIT, True),
    ],
)
def test_a_killed_ingest_frees_the_lock_and_the_next_one_closes_its_run(
    world: LibraryWorld, point: str, is_written: bool
) -> None:
    """R48, R49: nothing deactivated, its row stays RUNNING until the next run works."""
    before = world.register()
    with ingesting(world, crash_at=point) as killed:
        killed.wait_for(point)
        assert killed.wait() == -signal.SIGKILL
    world.wait_until_free()
    assert world.runs()[-1]["run_status"] == "RUNNING"
    assert (world.register() != before) is is_written
    assert world.store.value("SELECT COUNT(*) FROM public_libraries WHERE active = 0") == 0
    with ingesting(world) as following:
        report = said(following)
    assert (report["status"], report["deactivated"]) == ("SUCCESS", 10)
    assert report["changed"] == (0 if is_written else 90)
    interrupted, worked = world.runs()[-2:]
    assert (interrupted["run_status"], worked["run_status"]) == ("FAILED", "SUCCESS")
    assert interrupted["reason"].startswith("interrupted")
    assert interrupted["finished_at"] == worked["started_at"]
    assert world.active() == ACTIVE


def test_a_stop_signal_ends_the_ingest_after_the_page_in_flight(world: LibraryWorld) -> None:
    """R18's wish, as a container or Dagster asks: FAILED "stopped", nothing written."""
    before = world.register()
    stopped = {"crash_at": checkpoints.AFTER_LIBRARY_PAGE, "crash_signal": signal.SIGTERM}
    with ingesting(world, on_pass=2, **stopped) as process:
        report = said(process)
    assert (report["status"], report["fetched"]) == ("FAILED", 50)
    assert report["reason"].startswith("stopped")
    assert world.register() == before and world.lock_session() is None


def test_a_process_that_lost_its_lock_while_frozen_writes_nothing(world: LibraryWorld) -> None:
    """R48: it wakes up behind a run that took over; the other's end stays."""
    stopped = {"crash_at": checkpoints.BEFORE_LIBRARY_STALE, "crash_signal": signal.SIGSTOP}
    with ingesting(world, **stopped) as frozen:
        frozen.wait_for(checkpoints.BEFORE_LIBRARY_STALE)
        frozen.wait_until_stopped()
        world.kill_lock_session()
        assert world.load(library_rows(range(ACTIVE))).status == "SUCCESS"
        before = world.register()
        frozen.send(signal.SIGCONT)
        report = said(frozen)
    assert (report["status"], report["deactivated"]) == ("FAILED", 0)
    assert report["reason"].startswith("lock lost")
    assert world.register() == before
    late, other = world.runs()[-2:]
    assert late["run_status"] == "FAILED" and late["reason"].startswith("interrupted")
    assert other["run_status"] == "SUCCESS"
