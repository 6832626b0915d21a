"""What a cycle, a posting and a tick cost among 10 to 10,000 sources, through one whole day each.

    python -m benchmarks.growth [--sources 10 100 1000 10000] [--postings 3] [--server mysql]

Each size gets a fresh server and a day of its own (``simulated_day``), its sources spread over
three hosts; the last row is 1,000 sources on one host. A company board is one of its platform's
host, so a deployment never has more than six hosts. Prints how each cost at the largest size
stands to that at 100 sources: what is flat stays within 1.3.
"""

import argparse
import os
import platform
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from benchmarks.processor_time import Meter, Spent
from benchmarks.simulated_day import LARGE_BOARDS, LARGE_POSTINGS, DayCosts, opened_day
from benchmarks.simulated_sources import simulator_process
from benchmarks.tables import Table, show
from collection_pipeline_tests.kit.servers import create_database, private_server

SIZES = (10, 100, 1_000, 10_000)
HOSTS = ("greenhouse", "lever", "saramin")
ONE_HOST_SOURCES = 1_000
REFERENCE_SOURCES = 100
CYCLES_HEADER = (
    "sources",
    "hosts",
    "the day's ticks",
    "minutes on the wall",
    "a cycle: worker ms",
    "a cycle: database ms",
    "a cycle: platform ms",
    "first tenth ms",
    "last tenth ms",
    "a posting: worker ms",
    "a posting: database ms",
)
TICKS_HEADER = (
    "sources",
    "hosts",
    "tick of ten slices: worker ms",
    "database ms",
    "idle tick: worker ms",
    "database ms",
    "sensor's question, work there: both ms",
    "no work: both ms",
)
DAY_HEADER = (
    "sources",
    "hosts",
    "midnight a source: both ms",
    "preparing a source: both ms",
    "09:00 a source: both ms",
    "gate held ms",
    "telling the morning ms",
    "retention ms",
    "cleanup ms",
    "next midnight a source ms",
)


def main() -> None:
    """Every size, then the tables and what grew."""
    arguments = _arguments()
    plan: list[tuple[int, Sequence[str]]] = [(size, HOSTS) for size in arguments.sources]
    if ONE_HOST_SOURCES in arguments.sources:
        plan.append((ONE_HOST_SOURCES, HOSTS[:1]))
    measured: list[DayCosts] = []
    version = ""
    for sources, hosts in plan:
        version, costs = _measure(arguments, sources, hosts)
        measured.append(costs)
        minutes = costs.parts["day"].wall / 60_000
        print(f"{sources:,} sources on {len(hosts)} hosts: {minutes:.1f} minutes", flush=True)
    where = (
        f"{version}, Python {platform.python_version()}, {os.cpu_count()} cores,"
        f" {datetime.now(UTC):%Y-%m-%d}; sources of {arguments.postings} postings,"
        f" ticks of {arguments.claims}; processor time"
    )
    show(Table("growth_cycles", f"Cost of a cycle and of a posting. {where}.", *_cycles(measured)))
    show(Table("growth_ticks", f"Cost of a tick. {where}.", *_ticks(measured)))
    show(Table("growth_day", f"The rest of the day. {where}.", *_rest(measured)))
    print("\n".join(_grown(measured)))


def _measure(
    arguments: argparse.Namespace, sources: int, hosts: Sequence[str]
) -> tuple[str, DayCosts]:
    with private_server(arguments.server) as server, simulator_process() as (pid, exports):
        assert server.pid is not None
        meter = Meter(server.pid, pid)
        settings = {"COLLECTION_TICK_CLAIM_LIMIT": str(arguments.claims)}
        with opened_day(create_database(server), exports, meter, settings) as day:
            return f"{server.kind} {server.version()}", day.pass_day(
                sources, arguments.postings, hosts
            )


def a_cycle(costs: DayCosts) -> Spent:
    """One source of one slice, the ticks that it needs included."""
    return costs.parts["day"].per(costs.slices)


def a_posting(costs: DayCosts) -> Spent:
    """One new posting more in a page, without its cycle."""
    many = LARGE_BOARDS * (LARGE_POSTINGS - costs.postings)
    return (costs.parts["large boards"] - a_cycle(costs).times(LARGE_BOARDS)).per(many)


def _both(spent: Spent) -> float:
    return spent.worker + spent.database


def _cycles(measured: list[DayCosts]) -> tuple[Sequence[str], list[list[str]]]:
    rows = []
    for costs in measured:
        cycle, posting, day = a_cycle(costs), a_posting(costs), costs.parts["day"]
        rows.append(
            [
                *_named(costs),
                f"{costs.ticks:,}",
                f"{day.wall / 60_000:.1f}",
                f"{cycle.worker:.1f}",
                f"{cycle.database:.1f}",
                f"{cycle.platforms:.1f}",
                f"{_both(costs.tenth(0)):.1f}",
                f"{_both(costs.tenth(-1)):.1f}",
                f"{posting.worker:.2f}",
                f"{posting.database:.2f}",
            ]
        )
    return CYCLES_HEADER, rows


def _ticks(measured: list[DayCosts]) -> tuple[Sequence[str], list[list[str]]]:
    rows = []
    for costs in measured:
        parts = costs.parts
        tick = sum(costs.ticking, Spent()).per(costs.ticks)
        rows.append(
            [
                *_named(costs),
                f"{tick.worker:.0f}",
                f"{tick.database:.0f}",
                f"{parts['idle tick'].worker:.1f}",
                f"{parts['idle tick'].database:.1f}",
                f"{_both(parts['question with work']):.1f}",
                f"{_both(parts['question without work']):.1f}",
            ]
        )
    return TICKS_HEADER, rows


def _rest(measured: list[DayCosts]) -> tuple[Sequence[str], list[list[str]]]:
    rows = []
    for costs in measured:
        each = {name: _both(part) for name, part in costs.parts.items()}
        rows.append(
            [
                *_named(costs),
                f"{each['creation'] / costs.sources:.3f}",
                f"{each['preparation'] / costs.sources:.3f}",
                f"{each['capture'] / costs.sources:.3f}",
                f"{costs.gate_held_ms:.0f}",
                f"{each['telling']:.0f}",
                f"{each['retention']:.0f}",
                f"{each['cleanup']:.0f}",
                f"{each['next midnight'] / costs.sources:.3f}",
            ]
        )
    return DAY_HEADER, rows


def _named(costs: DayCosts) -> list[str]:
    return [f"{costs.sources:,}", str(costs.hosts)]


def _grown(measured: list[DayCosts]) -> list[str]:
    """How each cost at the largest size stands to that at the reference size."""
    spread = [costs for costs in measured if costs.hosts == len(HOSTS)]
    largest = max(spread, key=lambda costs: costs.sources)
    reference = [costs for costs in spread if costs.sources == REFERENCE_SOURCES]
    if not reference or largest is reference[0]:
        return []
    kinds: dict[str, Callable[[DayCosts], Spent]] = {
        "a cycle": a_cycle,
        "a posting": a_posting,
        "an idle tick": lambda costs: costs.parts["idle tick"],
        "the sensor's question with work": lambda costs: costs.parts["question with work"],
        "the sensor's question without work": lambda costs: costs.parts["question without work"],
    }
    return [
        f"{name}: {_both(cost(largest)) / _both(cost(reference[0])):.2f} times as much among"
        f" {largest.sources:,} sources as among {REFERENCE_SOURCES}"
        for name, cost in kinds.items()
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("--sources", type=int, nargs="+", default=SIZES)
    parser.add_argument("--postings", type=int, default=3)
    parser.add_argument("--claims", type=int, default=10, help="COLLECTION_TICK_CLAIM_LIMIT")
    parser.add_argument("--server", choices=("mysql", "mariadb"), default="mysql")
    return parser.parse_args()


if __name__ == "__main__":
    main()
