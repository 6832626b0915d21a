"""A year of collection through the real services and the simulated clock: which tables level out.

    python -m benchmarks.simulated_year [--days 430] [--sources 50] [--server mysql|mariadb]

Every day passes as in production: cycles at 00:05, ticks until nothing is due, retention at 04:45,
the 09:00 snapshot with its messages, the cleanup at 10:15, and the day's table sizes. Every source
loses and gains postings each day; a few fail for a time, find nothing, or use up their budget. No
row is inserted by hand. The settings are the defaults, apart from the least delay, and raw bodies
that are trimmed 60 days after a posting closed. A year and two months, since the history of slices
is kept for 400 days. Ends with 1 where a table grew as it must not.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import time as day_time

from benchmarks.table_growth import Growth, is_measured
from collection_pipeline.collection.dispatch import TickTerms
from collection_pipeline.collection.observation.service import opened_checks
from collection_pipeline.domain.snapshot import CaptureStatus
from collection_pipeline.store.connection import open_engine
from collection_pipeline.store.migration import migrate
from collection_pipeline_tests.kit.servers import create_database, private_server
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.kit.stack import Stack, opened_stack

PLATFORMS = ("greenhouse", "lever", "saramin", "jumpit", "wanted")
POSTINGS = 40
CHURN = {"*": {"remove": 2, "add": 2, "edit": 1}}
MOST_TICKS = 100


def main() -> None:
    """Run the days, print the tables' sizes, and judge them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--days", type=int, default=430)
    parser.add_argument("--sources", type=int, default=50)
    parser.add_argument("--server", choices=("mysql", "mariadb"), default="mysql")
    arguments = parser.parse_args()
    growth = Growth()
    ticks: Counter[int] = Counter()
    began = time.monotonic()
    with (
        private_server(arguments.server) as server,
        _world(create_database(server), arguments.sources) as stack,
    ):
        print(f"{server.kind} {server.version()}, {arguments.sources} sources", flush=True)
        for number in range(1, arguments.days + 1):
            ticks[_pass_day(stack, number)] += 1
            if is_measured(number, arguments.days):
                stack.run(lambda connection, day=number: growth.measure(connection, day))  # type: ignore[misc]  # bound at once
                print(f"day {number}: {time.monotonic() - began:,.0f} s", flush=True)
        print("\n".join(growth.lines()))
        print(f"ticks a day that found work: {dict(sorted(ticks.items()))}")
        print(f"ends of cycles: {_ends(stack)}")
        trimmed = "SELECT COUNT(*) FROM job_postings WHERE raw_list IS NULL"
        print(f"closed postings without raw body: {stack.value(trimmed):,}")
    print(growth.last_days())
    problems = growth.problems()
    print("\n".join(problems) or "every bounded table levelled out, history grew by its days")
    sys.exit(1 if problems else 0)


@contextmanager
def _world(url: str, sources: int) -> Iterator[Stack]:
    """The simulator and the services, with a source of each kind in turn."""
    plan = [(PLATFORMS[number % len(PLATFORMS)], str(1000 + number)) for number in range(sources)]
    rules = [source(platform, key, POSTINGS, changes=CHURN) for platform, key in plan]
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()
    with opened_stack(url, rules, HOST_MIN_DELAY_MS=1, RAW_BODY_DAYS=60) as stack:
        for platform, key in plan:
            stack.add(platform, key)
        _switch_faults_on(stack, plan)
        yield stack


def _switch_faults_on(stack: Stack, plan: list[tuple[str, str]]) -> None:
    """Some sources answer badly on some days; one is broken for a month and heals."""
    for number, fault, days in (
        (0, "http_500", range(60, 90)),
        (1, "zero_results", range(10, 366, 50)),
        (2, "http_429", range(7, 366, 30)),
        (3, "timeout", range(200, 202)),
        (4, "captcha", range(5, 366, 40)),
    ):
        if number < len(plan):
            platform, key = plan[number]
            stack.simulator.add_fault(
                {"name": fault, "platform": platform, "key": key, "days": list(days)}
            )


def _pass_day(stack: Stack, number: int) -> int:
    """One whole day; the number of ticks that found work."""
    pipeline = stack.pipeline
    if number > 1:  # the stack opens at 00:05 of day 1
        stack.set_clock(number)
    pipeline.creation.create_daily_cycles()
    ticks = 0
    while pipeline.dispatch.execute_tick(TickTerms(worker="year")).slices:
        ticks += 1
        if ticks > MOST_TICKS:
            raise RuntimeError(f"day {number} did not end within {MOST_TICKS} ticks")
    stack.set_clock(number, day_time(4, 45))
    pipeline.retention.apply().require_success()
    stack.set_clock(number, day_time(9, 0))
    capture = pipeline.snapshots.capture_at_nine(worker="year")
    if capture.header.status is not CaptureStatus.CAPTURED:
        raise RuntimeError(f"day {number} was not captured: {capture.note}")
    pipeline.dispatch.execute_tick(TickTerms(worker="year"))
    stack.set_clock(number, day_time(10, 15))
    pipeline.cleanup.clean_up()
    with opened_checks(pipeline, stack.url, None) as checks:
        checks.keep_sizes()
    return ticks


def _ends(stack: Stack) -> dict[str, int]:
    found = stack.rows(
        "SELECT CONCAT_WS(' ', cycle_status, failure_reason, budget_exhausted_reason) AS how,"
        " COUNT(*) AS cycles FROM job_posting_collection_cycles GROUP BY how ORDER BY how"
    )
    return {str(row["how"]): int(row["cycles"]) for row in found}


if __name__ == "__main__":
    main()
