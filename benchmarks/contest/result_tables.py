"""The tables: medians of the rounds, one table for each size, latency and load.

The share of the limit is the median of the rounds' own ratios, since a round's runs lie side by
side on the same machine.
"""

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.contest.catalogue import SOURCES, pages_of
from benchmarks.contest.contestants import LIMIT, PAGE_SERVER, Contestant
from benchmarks.contest.measuring import Measured
from benchmarks.contest.rounds import Case, Results
from benchmarks.tables import Table

# A table's name has letters only.
SIZE_WORDS = {2_600: "small", 20_000: "large"}
LATENCY_WORDS = {0: "near", 20: "far"}
HEADER = (
    "contestant",
    "rows/s",
    "lowest to highest",
    "of the limit's rate",
    "processor s",
    "times the limit's",
    "server's processor s",
    "peak MB",
)


def tables(results: Results, contestants: Sequence[Contestant], told: str) -> list[Table]:
    """Every table; ``told`` says where and how often it was measured."""
    cases = sorted(results.runs, key=lambda case: (case.rows, case.latency_ms, case.load))
    alone = [case for case in cases if PAGE_SERVER in results.runs[case]]
    return [
        *(
            _page_server_table(results, rows, [case for case in alone if case.rows == rows], told)
            for rows in sorted({case.rows for case in alone})
        ),
        *(_case_table(results.runs[case], case, contestants, told) for case in cases),
    ]


def _case_table(
    runs: dict[str, list[Measured]], case: Case, contestants: Sequence[Contestant], told: str
) -> Table:
    size = SIZE_WORDS.get(case.rows, "other")
    latency = LATENCY_WORDS.get(case.latency_ms, "other")
    rows = [
        _row(contestant, runs[contestant.name], runs.get(LIMIT), case.rows)
        for contestant in contestants
        if contestant.name != PAGE_SERVER and contestant.name in runs
    ]
    what = "first load" if case.load == "first" else "second load, nothing changed"
    caption = (
        f"{SOURCES} sources of {case.rows:,} postings, {case.latency_ms} ms until a page's answer, "
        f"{what}. {told}"
    )
    return Table(f"contest_{size}_{latency}_{case.load}", caption, HEADER, rows)


def _row(
    contestant: Contestant, runs: list[Measured], limit: list[Measured] | None, rows: int
) -> list[str]:
    rates = [SOURCES * rows / run.seconds for run in runs]

    def times_limit(of: Callable[[Measured], float]) -> str:
        if not limit:
            return "-"
        return f"{median(of(a) / of(b) for a, b in zip(runs, limit, strict=False)):.2f}"

    return [
        contestant.title,
        f"{median(rates):,.0f}",
        f"{min(rates):,.0f} to {max(rates):,.0f}",
        times_limit(lambda run: 1 / run.seconds),
        f"{median(run.processor_seconds for run in runs):.2f}",
        times_limit(lambda run: run.processor_seconds),
        f"{median(run.server_seconds for run in runs):.2f}",
        f"{median(run.peak_megabytes for run in runs):.0f}",
    ]


def _page_server_table(results: Results, rows: int, cases: Sequence[Case], told: str) -> Table:
    pages = SOURCES * pages_of(rows)
    cells = []
    for case in cases:
        rate = median(pages / run.seconds for run in results.runs[case][PAGE_SERVER])
        limit = results.runs[case].get(LIMIT)
        fastest = median(pages / run.seconds for run in limit) if limit else None
        cells.append(
            [
                f"{case.latency_ms}",
                f"{rate:,.0f}",
                "-" if fastest is None else f"{fastest:,.0f}",
                "-" if fastest is None else f"{rate / fastest:.1f}",
            ]
        )
    header = ("latency ms", "pages/s, bodies thrown away", "pages/s of the limit", "times")
    caption = f"The page server alone, {SOURCES} sources of {rows:,} postings. {told}"
    return Table(f"contest_page_server_{SIZE_WORDS.get(rows, 'other')}", caption, header, cells)
