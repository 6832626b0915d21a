"""The operations page as a reader gets it: rows, cells, badges."""

from typing import Any

from collection_pipeline_tests.kit.html_reading import Element, read_html
from collection_pipeline_tests.kit.operations_client import Operations


def page(operations: Operations, path: str = "/", **query: Any) -> Element:
    """The page at ``path``, which may carry its query itself; not 200 fails the test."""
    answer = operations.client.get(path, params=query or None)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/html")
    return read_html(answer.text)


def row_of(shown: Element, source_id: int) -> Element:
    """A source's row."""
    return shown.by_id(f"source-{source_id}")


def cell(row: Element, label: str) -> Element:
    """The cell under that heading."""
    (found,) = [one for one in row.all("td") if one.attributes["data-label"] == label]
    return found


def labels(shown: Element) -> list[str]:
    """The names of the rows in the order shown."""
    return [one.all("a")[0].text for one in shown.all("th", "source")]


def marks(row: Element) -> list[str]:
    """What is marked on a row beside its state."""
    return [one.text for one in row.all("span", "mark")]


def next_link(shown: Element) -> str | None:
    """Where the next page is, if there is one."""
    found = [one for one in shown.all("a") if one.attributes.get("rel") == "next"]
    return found[0].attributes["href"] if found else None
