"""How each platform's days ended, as a small picture: one stacked bar a platform, as SVG.

It repeats what the table beside it says, so nothing is lost where it cannot be shown. A dozen
platforms make about five kilobytes.
"""

from base64 import b64encode
from html import escape

import pandas as pd

BAR_WIDTH = 420
ROW_HEIGHT = 26
LEFT = 110
TOP = 34
WIDTH = LEFT + BAR_WIDTH + 120
COLOURS = (
    ("complete", "#2e7d32", ("complete_days",)),
    ("out of budget", "#f9a825", ("exhausted_days",)),
    ("failed", "#c62828", ("failed_days",)),
    ("other", "#9e9e9e", ("incomplete_days", "empty_days", "unfinished_days")),
)


def days_chart(platforms: pd.DataFrame) -> str:
    """An SVG document over the rows of ``figures.platform_figures``."""
    parts = [_legend()]
    for number, row in enumerate(platforms.to_dict("records")):
        parts.append(_bar(row, TOP + number * ROW_HEIGHT))
    height = TOP + len(platforms) * ROW_HEIGHT + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>'
    )


def data_uri(svg: str) -> str:
    """The picture within an address, as a page can show it without asking anybody."""
    return "data:image/svg+xml;base64," + b64encode(svg.encode()).decode("ascii")


def _legend() -> str:
    marks = []
    for number, (word, colour, _) in enumerate(COLOURS):
        x = LEFT + number * 118
        marks.append(f'<rect x="{x}" y="10" width="12" height="12" fill="{colour}"/>')
        marks.append(f'<text x="{x + 16}" y="20">{word}</text>')
    return "".join(marks)


def _bar(row: dict[str, object], y: int) -> str:
    counts = [(colour, sum(int(str(row[name])) for name in names)) for _, colour, names in COLOURS]
    total = sum(count for _, count in counts)
    parts = [f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(_short(row))}</text>']
    x = float(LEFT)
    for colour, count in counts:
        if count:
            width = BAR_WIDTH * count / total
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="18" fill="{colour}"/>'
            )
            x += width
    parts.append(f'<text x="{LEFT + BAR_WIDTH + 8}" y="{y + 14}">{total:,} days</text>')
    return "".join(parts)


def _short(row: dict[str, object]) -> str:
    return str(row["platform"])[:16]
