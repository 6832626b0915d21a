"""The geometry of the page's small charts; templates turn it into SVG without a style attribute.

Charts repeat what a table beside them says, so they carry no text of their own and may be stretched
to any width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

CHART_WIDTH = 600.0
CHART_HEIGHT = 120.0
GAP_SHARE = 0.25
LEAST_HEIGHT = 1.5
"""What is more than nothing is seen."""


@dataclass(frozen=True)
class Bar:
    """A rectangle in chart units; ``label`` is what a pointer over it says."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: str


@dataclass(frozen=True)
class Segment:
    """A stretch of a stacked bar; ``x`` and ``width`` are parts of 100."""

    x: float
    width: float
    kind: str


def nice_ceiling(value: int) -> int:
    """The next of 1, 2, 5, 10, 20, 50 ... that is at least ``value``."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if factor * step >= value:
                return factor * step
        step *= 10


def bars(values: Sequence[tuple[int | None, str, str]], top: int) -> list[Bar]:
    """One bar a value of (count, kind, label), scaled to ``top``; ``None`` leaves its place empty.

    A count of nothing gets no height, but keeps its place and its label.
    """
    slot = CHART_WIDTH / max(1, len(values))
    made = []
    for index, (value, kind, label) in enumerate(values):
        if value is None:
            continue
        height = 0.0 if value <= 0 else max(LEAST_HEIGHT, CHART_HEIGHT * min(value, top) / top)
        made.append(
            Bar(
                x=round(slot * (index + GAP_SHARE / 2), 2),
                y=round(CHART_HEIGHT - height, 2),
                width=round(slot * (1 - GAP_SHARE), 2),
                height=round(height, 2),
                kind=kind,
                label=label,
            )
        )
    return made


def segments(counts: Sequence[tuple[str, int]]) -> list[Segment]:
    """A stacked bar of (kind, count); kinds without a count are left out."""
    total = sum(count for _, count in counts)
    made = []
    x = 0.0
    for kind, count in counts:
        if count:
            width = 100 * count / total
            made.append(Segment(round(x, 3), round(width, 3), kind))
            x += width
    return made
