"""The figures of ``make proof`` as the table of docs/guarantees.md.

    python -m collection_pipeline_tests.kit.proof_page FOLDER PAGE

Invariant: the table holds what the run recorded and nothing else: figures of one promise are added
up by server, ``most_`` and ``least_`` ones by maximum and minimum. The rest of the page stays.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

BEGIN = "<!-- figures: written by make proof -->"
END = "<!-- end of figures -->"
Figures = dict[str, int | float]


class NoFigures(Exception):
    """The folder holds no figures: run `make proof` first."""


class NoPlaceForFigures(Exception):
    """The page has no place between the two marks for the table."""


def gathered(lines: Iterable[str]) -> dict[tuple[str, str], Figures]:
    """The recorded lines, added up by promise and server."""
    found: dict[tuple[str, str], Figures] = defaultdict(dict)
    for line in lines:
        told = json.loads(line)
        place = found[(told.pop("promise"), told.pop("server"))]
        for name, figure in told.items():
            if name not in place:
                place[name] = figure
            elif name.startswith("most_"):
                place[name] = max(place[name], figure)
            elif name.startswith("least_"):
                place[name] = min(place[name], figure)
            else:
                place[name] += figure
    return found


def table(found: dict[tuple[str, str], Figures]) -> str:
    """Markdown: a row for each promise and server."""
    lines = ["| tried | server | counted |", "| --- | --- | --- |"]
    for (promise, server), figures in sorted(found.items(), key=lambda one: one[0][0].lower()):
        counted = ", ".join(f"{name.replace('_', ' ')} {n:,}" for name, n in figures.items())
        lines.append(f"| {promise} | {server} | {counted} |")
    return "\n".join(lines)


def written(page: str, new_table: str) -> str:
    """The page with the table between its marks replaced."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlaceForFigures(f"the page needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{new_table}\n\n{END}{after}"


def main(folder: Path, page: Path) -> None:
    """Write the figures of ``folder`` into ``page``."""
    files = sorted(folder.glob("figures-*.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    if not lines:
        raise NoFigures(f"{folder} holds no figures: run `make proof` first")
    page.write_text(
        written(page.read_text(encoding="utf-8"), table(gathered(lines))), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
