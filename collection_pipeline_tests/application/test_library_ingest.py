"""One ingest of the library register: what it writes, and when it must not (R46 to R51)."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from pydantic import ValidationError

from collection_pipeline import checkpoints
from collection_pipeline.domain.library import (
    LibraryFailure,
    LibraryPage,
    LibraryReadFailed,
    SnapshotMoved,
)
from collection_pipeline.ingest.assembly import TABLE
from collection_pipeline.ingest.config import IngestConfig
from collection_pipeline.ingest.report import IngestReport
from collection_pipeline.ingest.service import LibraryIngest
from collection_pipeline.local_db.server import PrivateServer
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.session_lock import SessionLock
from collection_pipeline.store.transaction import TransactionRunner
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.library_rows import (
    Row,
    ServedSnapshot,
    library_row,
    library_rows,
    pages_of,
    served,
)
from collection_pipeline_tests.kit.library_world import LibraryWorld
from collection_pipeline_tests.kit.proxy import DatabaseProxy

OpenStore = Callable[..., Store]
BEFORE = range(100)


@pytest.fixture
def world(store: Store) -> LibraryWorld:
    """An ingest over an empty register."""
    return LibraryWorld(store)


@pytest.fixture
def loaded(world: LibraryWorld) -> LibraryWorld:
    """The same with 100 active libraries."""
    world.load(library_rows(BEFORE))
    return world


@pytest.fixture
def at_point() -> Iterator[Callable[[str, Callable[[], object]], None]]:
    """Lets something happen the first time that a named point is passed."""
    waiting: dict[str, Callable[[], object]] = {}

    def passing(name: str) -> None:
        if name in waiting:
            waiting.pop(name)()

    checkpoints.install(passing)
    yield lambda name, act: waiting.update({name: act})
    checkpoints.install(None)


def counted(report: IngestReport) -> tuple[int, ...]:
    """Fetched, upserted, added, changed, deactivated, reactivated."""
    return (
        report.fetched,
        report.upserted,
        report.added,
        report.changed,
        report.deactivated,
        report.reactivated,
    )


def assert_refused(
    world: LibraryWorld, before: dict[str, Any], report: IngestReport, word: str
) -> None:
    """FAILED with its reason, in the report and in the row; the register is as it was."""
    assert report.status == "FAILED" and report.reason is not None
    assert report.reason.startswith(word), report.reason
    last = world.runs()[-1]
    assert (last["id"], last["run_status"]) == (report.run_id, "FAILED")
    assert last["reason"] == report.reason and last["finished_at"] is not None
    assert last["deactivated_count"] == 0
    assert world.register() == before
    assert world.lock_session() is None


def test_two_snapshots_there_and_back(world: LibraryWorld) -> None:
    """R49, R51: data of the published snapshots' shape; the same one again changes nothing."""
    first = library_rows(range(1_000))
    second = [
        *library_rows(range(194, 694), edition=1),
        *library_rows(range(694, 1_000)),
        *library_rows(range(5_000, 5_233)),
    ]
    assert counted(world.load(first)) == (1_000, 1_000, 1_000, 0, 0, 0)
    assert counted(world.load(second)) == (1_039, 1_039, 233, 500, 194, 0)
    assert world.active() == 1_039
    before = world.register()
    assert counted(world.load(second)) == (1_039, 1_039, 0, 0, 0, 0)
    after = world.register()
    assert after["public_libraries"] == before["public_libraries"]
    assert after["public_library_changes"] == before["public_library_changes"]
    assert counted(world.load(first)) == (1_000, 1_000, 0, 500, 233, 194)
    assert world.active() == 1_000
    assert world.store.value("SELECT COUNT(*) FROM public_libraries") == 1_233
    last = world.runs()[-1]
    assert (last["fetched_count"], last["added_count"], last["changed_count"]) == (1_000, 0, 500)
    assert (last["reactivated_count"], last["deactivated_count"]) == (194, 233)
    assert (last["run_status"], last["stated_total"]) == ("SUCCESS", 1_000)


def test_stale_rows_stay_active_unless_their_end_is_asked_for(loaded: LibraryWorld) -> None:
    """R46: `deactivate_stale` is off by default."""
    report = loaded.ingest(served(library_rows(range(90))), deactivate_stale=False)
    assert (report.status, counted(report)) == ("SUCCESS", (90, 90, 0, 0, 0, 0))
    assert loaded.active() == 100
    asked = [(run["deactivate_stale"], run["allow_shrink"]) for run in loaded.runs()]
    assert asked == [(1, 0), (0, 0)]


def test_the_last_row_of_a_repeated_key_wins_and_is_counted(world: LibraryWorld) -> None:
    """R51: fetched = distinct + duplicates + unkeyable; the source counts them all in its total."""
    rows = [
        library_row(1, edition=1),
        library_row(2, seat_count="서른"),
        library_row(3, provider_code=" "),
        library_row(1, edition=2),
        library_row(1, library_name="  작은도서관 1 ", edition=3),
        *library_rows(range(4, 300)),
    ]
    report = world.load(rows)
    assert (report.fetched, report.upserted, report.total) == (301, 298, 301)
    assert (report.duplicates, report.unkeyable, report.unparsed) == (2, 1, 1)
    counts = world.store.rows(
        "SELECT book_count FROM public_libraries WHERE library_name RLIKE ' [12]$'"
    )
    assert {row["book_count"] for row in counts} == {1_000 + 1 + 7 * 3, 1_002}
    last = world.runs()[-1]
    assert (last["duplicate_count"], last["unkeyable_count"], last["unparsed_count"]) == (2, 1, 1)


def doubtful(repeated: int, keyless: int) -> list[Row]:
    """As many rows as the register has, some of them in the place of present libraries."""
    keyed = library_rows(range(100 - repeated - keyless), edition=1)
    missing = [library_row(99 - n, provider_code="") for n in range(keyless)]
    return [*keyed, *keyed[:repeated], *missing]


@pytest.mark.parametrize(
    ("repeated", "keyless", "reason"),
    [
        (1, 0, "repeated rows: 1; so no row was deactivated"),
        (0, 1, "rows without a key: 1; so no row was deactivated"),
    ],
)
def test_a_row_repeated_or_without_a_key_keeps_every_stale_row_active(
    loaded: LibraryWorld, repeated: int, keyless: int, reason: str
) -> None:
    """R49: it may stand where a present library stood; all else is stored, and the run says so."""
    report = loaded.ingest(served(doubtful(repeated, keyless)))
    assert (report.status, report.reason) == ("SUCCESS", reason)
    assert (report.fetched, report.changed, report.deactivated) == (100, 99, 0)
    assert (loaded.active(), loaded.runs()[-1]["reason"]) == (100, reason)
    whole = loaded.ingest(served(library_rows(range(98))))
    assert (whole.reason, whole.deactivated) == (None, 2), "the next complete one settles it"


@pytest.mark.parametrize(("repeated", "keyless"), [(2, 0), (0, 2), (1, 1), (25, 0), (0, 25)])
@pytest.mark.parametrize("page_rows", [40, 1_000])
def test_more_doubtful_rows_than_a_tiny_share_change_nothing(
    loaded: LibraryWorld, repeated: int, keyless: int, page_rows: int
) -> None:
    """R49: the count fits the total and the least share, the libraries do not."""
    before = loaded.register()
    snapshot = served(doubtful(repeated, keyless), page_rows)
    report = loaded.ingest(snapshot, allow_shrink=True)
    assert_refused(loaded, before, report, "incomplete")
    assert (report.duplicates, report.unkeyable, report.fetched) == (repeated, keyless, 100)
    assert snapshot.read_count == (2 if repeated and page_rows == 40 else 1)


@pytest.mark.parametrize("allow_shrink", [False, True])
def test_an_empty_snapshot_is_refused_whatever_is_allowed(
    loaded: LibraryWorld, allow_shrink: bool
) -> None:
    """R49: no row, or none that can be keyed (renamed columns); nothing changes."""
    before = loaded.register()
    nothing = loaded.ingest(served([]), allow_shrink=allow_shrink)
    assert_refused(loaded, before, nothing, "empty")
    strange = [{"name": row["도서관명"]} for row in library_rows(BEFORE)]
    renamed = loaded.ingest(served(strange), allow_shrink=allow_shrink)
    assert_refused(loaded, before, renamed, "empty")
    assert (renamed.fetched, renamed.unkeyable, renamed.retry_later) == (100, 100, False)


def test_an_empty_snapshot_is_refused_for_an_empty_register_too(world: LibraryWorld) -> None:
    """R49: the first run of all must not call nothing a success."""
    assert_refused(world, world.register(), world.ingest(served([])), "empty")


@pytest.mark.parametrize(("rows", "is_refused"), [(79, True), (80, False)])
def test_a_snapshot_below_the_least_share_is_refused(
    loaded: LibraryWorld, rows: int, is_refused: bool
) -> None:
    """R49: 80 % of the active rows pass, less does not; refused means nothing is written."""
    before = loaded.register()
    small = served(library_rows(range(rows), edition=1))
    report = loaded.ingest(small)
    if is_refused:
        assert_refused(loaded, before, report, "too small")
        report = loaded.ingest(small, allow_shrink=True)
    assert (report.status, report.changed, report.deactivated) == ("SUCCESS", rows, 100 - rows)


def test_the_share_is_of_distinct_keys_and_active_rows(loaded: LibraryWorld) -> None:
    """R49: a repeated library is one; rows switched off before do not count."""
    before = loaded.register()
    loaded.ingest(served(library_rows(range(200, 300))), deactivate_stale=False)
    before = loaded.register()
    rows = library_rows(range(159))
    assert_refused(loaded, before, loaded.ingest(served([*rows, rows[0]])), "too small")
    loaded.ingest(served(library_rows(range(100))), allow_shrink=True)
    loaded.ingest(served(library_rows(range(40))), allow_shrink=True)
    assert loaded.ingest(served(library_rows(range(32)))).status == "SUCCESS"


def test_a_small_snapshot_is_refused_without_a_stale_step_too(loaded: LibraryWorld) -> None:
    """R49: implausible is implausible."""
    before = loaded.register()
    report = loaded.ingest(served(library_rows([1])), deactivate_stale=False)
    assert_refused(loaded, before, report, "too small")


@pytest.mark.parametrize("stated", [99, 101])
def test_a_snapshot_that_differs_from_its_total_is_refused(
    loaded: LibraryWorld, stated: int
) -> None:
    """R49: cut short, or more than there is; not even with `allow_shrink`."""
    before = loaded.register()
    pages = pages_of(library_rows(BEFORE, edition=1), 40, total=stated)
    report = loaded.ingest(ServedSnapshot([pages]), allow_shrink=True)
    assert_refused(loaded, before, report, "incomplete")
    assert (report.fetched, report.total, report.retry_later) == (100, stated, False)


def test_a_register_that_states_no_total_proves_nothing(loaded: LibraryWorld) -> None:
    """R49: only a file is complete by its end."""
    before = loaded.register()
    pages = [LibraryPage(library_rows(BEFORE), None, 1)]
    assert_refused(loaded, before, loaded.ingest(ServedSnapshot([pages])), "incomplete")


def changing_total() -> list[LibraryPage | Exception]:
    """A reading between whose pages a library was added."""
    rows = library_rows(range(101))
    return [*pages_of(rows[:40], 40, total=100), *pages_of(rows, 40)[1:]]


@pytest.mark.parametrize(
    "moved", [changing_total(), [SnapshotMoved("an empty page before the end")]]
)
def test_a_snapshot_that_moved_is_read_again_once(
    loaded: LibraryWorld, moved: list[LibraryPage | Exception]
) -> None:
    """`fetched` counts the last reading only; the second time it fails."""
    rows = library_rows(range(101))
    snapshot = ServedSnapshot([moved, pages_of(rows, 40)])
    report = loaded.ingest(snapshot)
    assert (report.status, counted(report)) == ("SUCCESS", (101, 101, 1, 0, 0, 0))
    assert snapshot.read_count == 2
    before = loaded.register()
    other = SnapshotMoved("the total went from 101 to 102 on page 2")
    again = ServedSnapshot([moved, [other]])
    report = loaded.ingest(again)
    assert_refused(loaded, before, report, "moved")
    assert (again.read_count, report.retry_later) == (2, True)
    stuck = ServedSnapshot([moved])
    report = loaded.ingest(stuck)
    assert_refused(loaded, before, report, "incomplete")
    assert (stuck.read_count, report.retry_later) == (2, False), "wrong twice is no movement"


def test_a_row_that_came_on_two_pages_makes_the_reading_suspicious(loaded: LibraryWorld) -> None:
    """R49: a row was put before page 2, so its first was on page 1 already, and one was missed.

    The total need not show it: another row went meanwhile. Row 50 must not be switched off.
    """
    rows = library_rows(BEFORE)
    shifted = [*rows[:40], rows[39], *rows[40:49], *rows[50:]]
    assert len(shifted) == 100
    snapshot = ServedSnapshot([pages_of(shifted, 40), pages_of(rows, 40)])
    report = loaded.ingest(snapshot)
    assert (snapshot.read_count, report.status, report.deactivated) == (2, "SUCCESS", 0)
    other = [*rows[:80], rows[79], *rows[80:98], rows[99]]
    before = loaded.register()
    restless = ServedSnapshot([pages_of(shifted, 40), pages_of(other, 40)])
    assert_refused(loaded, before, loaded.ingest(restless), "moved")


def test_keys_that_every_reading_repeats_are_the_sources_own(loaded: LibraryWorld) -> None:
    """R49: a register that holds a key twice can be ingested, with the last row."""
    rows = [*library_rows(BEFORE), library_row(1, edition=4)]
    snapshot = ServedSnapshot([pages_of(rows, 40)])
    report = loaded.ingest(snapshot)
    assert (report.status, report.duplicates, report.changed) == ("SUCCESS", 1, 1)
    assert snapshot.read_count == 2


@pytest.mark.parametrize("kind", list(LibraryFailure))
def test_a_source_that_fails_ends_the_run_with_its_class(
    loaded: LibraryWorld, kind: LibraryFailure
) -> None:
    """Only the class "try later" may be started again the same day; no retry inside."""
    before = loaded.register()
    pages = pages_of(library_rows(BEFORE, edition=1), 40)
    snapshot = ServedSnapshot([[*pages[:2], LibraryReadFailed(kind, "the portal is away")]])
    report = loaded.ingest(snapshot)
    assert_refused(loaded, before, report, "unreadable: the portal is away")
    assert report.retry_later is (kind is LibraryFailure.RETRY_LATER)
    assert (report.failure_kind, snapshot.read_count, report.fetched) == (kind, 1, 80)
    assert loaded.runs()[-1]["failure_kind"] == kind.value


def test_a_busy_lock_skips_the_run_at_once(loaded: LibraryWorld) -> None:
    """R48: recorded as SKIPPED and well ended; csv and library exclude each other."""
    before = loaded.register()
    rows = library_rows(BEFORE, edition=1)
    with loaded.lock.take() as held:
        assert held is not None
        for snapshot in (served(rows), ServedSnapshot([pages_of(rows)], source="csv")):
            report = loaded.ingest(snapshot, trigger="scheduled")
            assert (report.status, report.retry_later, snapshot.read_count) == ("SKIPPED", False, 0)
            assert report.reason is not None and report.reason.startswith("busy")
            last = loaded.runs()[-1]
            assert (last["id"], last["run_status"]) == (report.run_id, "SKIPPED")
            assert (last["source"], last["trigger_kind"]) == (snapshot.source, "scheduled")
            assert last["finished_at"] == last["started_at"] == NOON
    assert loaded.register() == before


@pytest.mark.parametrize("page", [1, 3])
def test_a_lock_lost_while_pages_are_read_ends_the_run(loaded: LibraryWorld, page: int) -> None:
    """R48: possession is asked between pages and after the last; nothing is written."""
    before = loaded.register()

    def lose(number: int) -> None:
        if number == page:
            loaded.kill_lock_session()

    snapshot = ServedSnapshot([pages_of(library_rows(BEFORE, edition=1), 40)], before_page=lose)
    report = loaded.ingest(snapshot)
    assert_refused(loaded, before, report, "lock lost")
    assert report.fetched == min(40 * page, 100)
    assert loaded.ingest(served(library_rows(BEFORE))).status == "SUCCESS"


@pytest.mark.parametrize(
    "point", [checkpoints.BEFORE_LIBRARY_STALE, checkpoints.BEFORE_LIBRARY_COMMIT]
)
def test_a_lock_lost_before_the_stale_step_is_committed_deactivates_nothing(
    loaded: LibraryWorld, at_point: Callable[[str, Callable[[], object]], None], point: str
) -> None:
    """R48: the stale step is the lock session's own, so losing the session rolls it back."""
    at_point(point, loaded.kill_lock_session)
    report = loaded.ingest(served(library_rows(range(90))))
    assert report.status == "FAILED" and report.reason is not None
    assert report.reason.startswith("lock lost")
    assert (report.upserted, report.deactivated, loaded.active()) == (90, 0, 100)
    last = loaded.runs()[-1]
    assert (last["run_status"], last["deactivated_count"]) == ("FAILED", 0)
    assert loaded.load(library_rows(range(90))).deactivated == 10


def test_a_lost_answer_to_the_last_commit_is_a_success(
    store: Store, loaded: LibraryWorld, database_server: PrivateServer
) -> None:
    """The run's own row tells that the work is stored."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        behind = LibraryWorld(store, proxy.url(store.url))
        struck = proxy.lose_next_commit_answer(containing="'SUCCESS'")
        report = behind.ingest(served(library_rows(range(90))))
        assert struck.is_set()
    assert (report.status, report.deactivated, report.reason) == ("SUCCESS", 10, None)
    assert (loaded.active(), loaded.runs()[-1]["run_status"]) == (90, "SUCCESS")


def test_a_commit_that_never_arrived_is_a_failure(
    store: Store, loaded: LibraryWorld, database_server: PrivateServer
) -> None:
    """R48, R49: the same line broken before COMMIT: nothing deactivated."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        behind = LibraryWorld(store, proxy.url(store.url))
        struck = proxy.lose_next_commit(containing="'SUCCESS'")
        report = behind.ingest(served(library_rows(range(90))))
        assert struck.is_set()
    assert (report.status, report.deactivated, loaded.active()) == ("FAILED", 0, 100)
    assert loaded.runs()[-1]["run_status"] == "FAILED"


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (checkpoints.AFTER_LIBRARY_PAGE, "no row was deactivated, and the next run closes"),
        (checkpoints.BEFORE_LIBRARY_COMMIT, "whether the last commit arrived"),
    ],
)
def test_a_database_that_stays_away_ends_a_begun_run_with_its_number(
    store: Store,
    loaded: LibraryWorld,
    database_server: PrivateServer,
    at_point: Callable[[str, Callable[[], object]], None],
    point: str,
    words: str,
) -> None:
    """R51: the report says `database`; the row stays RUNNING until the next run closes it."""
    assert database_server.port is not None
    with DatabaseProxy(database_server.port) as proxy:
        engine = open_engine(proxy.url(store.url))
        ticks = count(step=5.0)
        impatient = TransactionRunner(
            engine, monotonic=lambda: next(ticks), sleep=lambda _seconds: None
        )
        lock = SessionLock(proxy.url(store.url), TABLE, 600)
        service = LibraryIngest(impatient, store.clock, lock, least_share_percent=80)
        at_point(point, proxy.cut)
        config = IngestConfig(deactivate_stale=True)
        report = service.run(config, served(library_rows(range(90))), trigger="manual")
        engine.dispose()
    assert (report.status, report.retry_later, report.deactivated) == ("FAILED", False, 0)
    assert report.reason is not None and report.reason.startswith("database: ")
    assert words in report.reason
    last = loaded.runs()[-1]
    assert (last["id"], last["run_status"], loaded.active()) == (report.run_id, "RUNNING", 100)
    loaded.wait_until_free()
    assert loaded.load(library_rows(range(90))).deactivated == 10
    assert loaded.runs()[-2]["reason"].startswith("interrupted")


def test_a_run_that_another_has_closed_does_not_succeed_any_more(
    loaded: LibraryWorld, at_point: Callable[[str, Callable[[], object]], None]
) -> None:
    """R49: success and the stale step are one; a closed row takes both back."""
    closing = "UPDATE ingest_runs SET run_status = 'FAILED' WHERE run_status = 'RUNNING'"
    at_point(checkpoints.BEFORE_LIBRARY_STALE, lambda: loaded.store.write(closing))
    report = loaded.ingest(served(library_rows(range(90))))
    assert (report.status, loaded.active()) == ("FAILED", 100)


@pytest.mark.parametrize("says_so_itself", [False, True])
def test_a_stop_ends_after_the_page_in_flight(loaded: LibraryWorld, says_so_itself: bool) -> None:
    """R18's wish: FAILED "stopped", nothing written, whoever notices it first."""
    before, stop = loaded.register(), threading.Event()
    pages: list[LibraryPage | Exception] = [*pages_of(library_rows(BEFORE, edition=1), 40)]
    if says_so_itself:
        pages[1] = LibraryReadFailed(LibraryFailure.RETRY_LATER, "not read on: asked to stop")
    served_pages: list[int] = []

    def ask_at_the_second(number: int) -> None:
        served_pages.append(number)
        if number == 2:
            stop.set()

    report = loaded.ingest(ServedSnapshot([pages], before_page=ask_at_the_second), stop=stop)
    assert_refused(loaded, before, report, "stopped")
    assert served_pages == [1, 2] and report.retry_later is False


def test_a_stop_while_rows_are_written_deactivates_nothing(
    world: LibraryWorld, at_point: Callable[[str, Callable[[], object]], None]
) -> None:
    """R49: it ends after the chunk in flight; what is stored is right by itself."""
    world.load(library_rows(range(650)))
    stop = threading.Event()
    at_point(checkpoints.AFTER_LIBRARY_CHUNK, stop.set)
    report = world.ingest(served(library_rows(range(600), edition=1)), stop=stop)
    assert report.status == "FAILED" and report.reason is not None
    assert report.reason.startswith("stopped")
    assert (report.upserted, report.changed, report.deactivated) == (500, 500, 0)
    assert world.active() == 650
    assert counted(world.load(library_rows(range(600), 1))) == (600, 600, 0, 100, 50, 0)


@pytest.mark.parametrize(
    ("fault", "word"),
    [(KeyError("secret"), "internal: KeyError"), (KeyboardInterrupt(), "stopped")],
)
def test_an_error_nobody_expected_is_recorded_and_raised(
    loaded: LibraryWorld, fault: BaseException, word: str
) -> None:
    """R29: by its class only, since its text may hold anything; the lock is free again."""
    before = loaded.register()

    def fail(number: int) -> None:
        raise fault

    with pytest.raises(type(fault)):
        loaded.ingest(ServedSnapshot([pages_of(library_rows(BEFORE))], before_page=fail))
    last = loaded.runs()[-1]
    assert last["run_status"] == "FAILED" and last["reason"].startswith(word)
    assert "secret" not in last["reason"]
    assert loaded.register() == before and loaded.lock_session() is None


def test_every_moment_is_the_databases(open_store: OpenStore) -> None:
    """R15: with the simulated offset, for every instant that a run writes."""
    store = open_store(now=None)
    world = LibraryWorld(store)
    moment = NOON + timedelta(days=400)
    store.run(lambda connection: store.clock.move_to(connection, moment))
    world.load(library_rows(range(10)))
    world.load([library_row(0, edition=1), *library_rows(range(1, 9))])
    instants = store.row(
        "SELECT MIN(l.first_seen_at) AS a, MIN(l.updated_at) AS b, MAX(l.deactivated_at) AS c, "
        "(SELECT MIN(last_seen_at) FROM public_library_sightings) AS d, "
        "(SELECT MIN(changed_at) FROM public_library_changes) AS e, "
        "(SELECT MIN(started_at) FROM ingest_runs) AS f, "
        "(SELECT MIN(finished_at) FROM ingest_runs) AS g FROM public_libraries AS l"
    )
    for instant in instants.values():
        assert moment <= instant < moment + timedelta(minutes=5)


@pytest.mark.parametrize(
    "asked",
    [
        {"source": "csv"},
        {"source": "library", "file": "a.csv"},
        {"source": "parquet"},
        {"source": "library", "force": True},
    ],
)
def test_one_model_refuses_what_no_run_can_do(asked: dict[str, Any]) -> None:
    """R46: the same for every entry point; nothing is switched on by default."""
    with pytest.raises(ValidationError):
        IngestConfig(**asked)
    usual = IngestConfig(source="library")
    assert (usual.deactivate_stale, usual.allow_shrink) == (False, False)
