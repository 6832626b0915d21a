"""A captured morning beside the cycles that it was taken of (I7)."""

from collections.abc import Iterable

from collection_pipeline_tests.kit.stack import Stack

_SHARED = (
    "cycle_status",
    "is_complete",
    "fetched_count",
    "list_page_count",
    "detail_request_count",
)


def assert_snapshot_equals_cycles(stack: Stack, number: int, sources: Iterable[int]) -> None:
    """The day is CAPTURED and its items are the cycles as they stand, for exactly ``sources``.

    For a moment at which no cycle has changed since the capture.
    """
    day = stack.day(number)
    (header,) = stack.rows(
        "SELECT * FROM job_posting_collection_sla_snapshots WHERE snapshot_date = :day", day=day
    )
    assert header["capture_status"] == "CAPTURED", header
    items = stack.rows(
        "SELECT * FROM job_posting_collection_sla_snapshot_items WHERE snapshot_id = :id",
        id=header["id"],
    )
    assert {item["job_source_id"] for item in items} == set(sources)
    for item in items:
        cycle = stack.cycle(item["job_source_id"], number)
        assert {n: item[n] for n in _SHARED} == {n: cycle[n] for n in _SHARED}, "I7"
