"""The demo's claim, checked: every figure against the simulator's log, every posting against its
catalogue, every run against Dagster's run table. A difference ends the demo with an error."""

from collections import Counter
from collections.abc import Iterator
from datetime import date

from collection_pipeline.demo.sources import (
    DEMO_SOURCES,
    EXHAUSTED,
    NOTHING,
    SUCCESS,
    DemoSource,
)
from collection_pipeline.demo.stack import DemoStack
from collection_pipeline.demo.standing import Standing, standings
from collection_pipeline.store.reading import postings_of
from collection_pipeline.store.snapshots import SlaSnapshots


class DemoDiffers(Exception):
    """The tables and what really happened are not the same."""


def check_demo(
    stack: DemoStack, days: list[date], executed: Counter[str], found: Counter[str]
) -> int:
    """Raise ``DemoDiffers`` for the first differences; returns how many figures were compared."""
    compared = 0
    problems: list[str] = []
    for name, expected, actual in _figures(stack, days, executed, found):
        compared += 1
        if expected != actual:
            problems.append(f"{name}: expected {expected}, found {actual}")
    if problems:
        raise DemoDiffers("; ".join(problems[:10]))
    return compared


Figure = tuple[str, object, object]


def _figures(
    stack: DemoStack, days: list[date], executed: Counter[str], found: Counter[str]
) -> Iterator[Figure]:
    for job, count in sorted(executed.items()):
        yield f"successful Dagster runs of {job}", count, found[job]
    for number, day in enumerate(days):
        if executed["sla_snapshot"]:
            yield from _snapshot(stack, day, [source.ends[number] for source in DEMO_SOURCES])
        for source, standing in zip(DEMO_SOURCES, standings(stack, day), strict=True):
            where = f"{day} {source.label}"
            yield f"{where}: state", source.ends[number], standing.status
            yield from _requests(stack, source, standing, where)
    last = len(days) - 1
    for source, standing in zip(DEMO_SOURCES, standings(stack, days[last]), strict=True):
        if source.ends[last] == SUCCESS:
            yield from _postings(stack, source, standing, days)
        elif source.ends[last] == EXHAUSTED:
            yield f"{source.label}: closed postings", 0, _count(stack, standing, "CLOSED")


def _snapshot(stack: DemoStack, day: date, ends: list[str]) -> Iterator[Figure]:
    """What 09:00 recorded, against how the sources' days had to end by then."""
    run = stack.pipeline.transactions.run
    header = run(lambda connection: SlaSnapshots().header(connection, day))
    items = [] if header is None else run(lambda c: SlaSnapshots().items(c, header.snapshot_id))
    states = Counter(end for end in ends if end != NOTHING)
    yield f"{day} snapshot", "CAPTURED", header and header.status.value
    yield f"{day} snapshot: states", states, Counter(item.cycle_status.value for item in items)


def _requests(
    stack: DemoStack, source: DemoSource, standing: Standing, where: str
) -> Iterator[Figure]:
    """Counters of the cycle against what the simulator served that day."""
    served = [
        record
        for record in stack.simulator.records()
        if record["platform"] == source.platform
        and record["search_key"] == source.key
        and record["run_date"] == standing.run_date.isoformat()
    ]
    lists = [record for record in served if record["kind"] == "list"]
    details = [record for record in served if record["kind"] == "detail"]
    inactive = set(
        stack.simulator.inactive(source.platform, source.key, standing.run_date)
        if source.row["condition"].get("form") == "v4"
        else ()
    )
    ids = {one for record in lists for one in record["ids"]} - inactive
    yield f"{where}: list pages", len(lists), standing.number("list_page_count")
    yield f"{where}: details", len(details), standing.number("detail_request_count")
    yield f"{where}: distinct postings", len(ids), standing.number("fetched_count")


def _postings(
    stack: DemoStack, source: DemoSource, standing: Standing, days: list[date]
) -> Iterator[Figure]:
    """After safe days: open is what is listed today, missed since today, closed since yesterday."""
    listed = [_listed(stack, source, day) for day in days]
    ever = set().union(*listed)
    today = listed[-1]
    rows = stack.pipeline.transactions.run(
        lambda connection: postings_of(connection, standing.source_id)
    )
    by_status = {
        status: {row["source_job_id"] for row in rows if row["status"] == status}
        for status in ("OPEN", "MISSED", "CLOSED")
    }
    yesterday = len(days) - 2
    was_missed = yesterday >= 0 and source.ends[yesterday] == SUCCESS
    gone_twice = ever - today - listed[yesterday] if was_missed else set()
    yield f"{source.label}: open postings", today, by_status["OPEN"]
    yield f"{source.label}: missed postings", ever - today - gone_twice, by_status["MISSED"]
    yield f"{source.label}: closed postings", gone_twice, by_status["CLOSED"]


def _listed(stack: DemoStack, source: DemoSource, day: date) -> set[str]:
    ids = set(stack.simulator.catalogue(source.platform, source.key, day))
    if source.row["condition"].get("form") == "v4":
        ids -= set(stack.simulator.inactive(source.platform, source.key, day))
    return ids


def _count(stack: DemoStack, standing: Standing, status: str) -> int:
    rows = stack.pipeline.transactions.run(
        lambda connection: postings_of(connection, standing.source_id)
    )
    return sum(row["status"] == status for row in rows)
