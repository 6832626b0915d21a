"""Invariants over the real tables alone, from one step to the next (section 12 of the rules).

They know nothing of the model, so that a mistake in it cannot hide a broken one.
"""

from collections import Counter

from collection_pipeline_tests.kit.queue_rows import TERMINAL, CycleKey
from collection_pipeline_tests.kit.queue_tables import Tables

FINAL = frozenset({"CAPTURED", "MISSED", "NOT_APPLICABLE"})
JUDGED = ("status", "missed_count", "closed_at")


def broken_laws(
    before: Tables, after: Tables, older_runs: set[CycleKey], strays: set[tuple[CycleKey, str]]
) -> list[str]:
    """One sentence for each broken invariant; I1 is judged where the tables are read.

    ``older_runs`` and ``strays`` are rows that the test itself put in the way.
    """
    return [
        *_leases(after),
        *_terminal_ends(before, after, older_runs, strays),
        *_judged_postings(before, after),
        *_final_mornings(before, after),
    ]


def _leases(after: Tables) -> list[str]:
    """I2: a lease exactly where a cycle is RUNNING, and every token once."""
    wrong = [
        f"I2: cycle {key} is {row['cycle_status']} against its lease"
        for key, row in after["cycles"].items()
        if len(
            {row["cycle_status"] == "RUNNING", bool(row["lease_token"]), bool(row["lease_until"])}
        )
        > 1
    ]
    tokens = Counter(row["lease_token"] for row in after["cycles"].values() if row["lease_token"])
    tokens.update(after["slices"].keys())
    return [*wrong, *(f"I2: token {one} was given {n} times" for one, n in tokens.items() if n > 1)]


def _terminal_ends(
    before: Tables, after: Tables, older_runs: set[CycleKey], strays: set[tuple[CycleKey, str]]
) -> list[str]:
    """I5, R12: exactly one runs row, no seen rows, nothing changes any more."""
    broken = []
    for key, row in after["cycles"].items():
        is_terminal = row["cycle_status"] in TERMINAL
        if (key in after["runs"]) != (is_terminal or key in older_runs):
            broken.append(f"I5: cycle {key} is {row['cycle_status']} against its runs row")
        earlier = before["cycles"].get(key, row)
        if earlier["cycle_status"] in TERMINAL and earlier != row:
            broken.append(f"I5: cycle {key} had ended and changed")
    broken += [
        f"I5: cycle {key[:2]} ended and has seen {key[2]}"
        for key in after["seen"]
        if after["cycles"][key[:2]]["cycle_status"] in TERMINAL and (key[:2], key[2]) not in strays
    ]
    broken += [
        f"I5: the {name} row {key} changed"
        for name in ("runs", "slices")
        for key, row in before[name].items()
        if after[name].get(key) != row
    ]
    return broken


def _judged_postings(before: Tables, after: Tables) -> list[str]:
    """I4: a posting gets worse only where a cycle of its source has just ended safely."""
    safe = {
        key[0]
        for key, row in after["cycles"].items()
        if row["cycle_status"] == "SUCCESS"
        and row["is_complete"]
        and row["fetched_count"]
        and before["cycles"].get(key, {}).get("cycle_status") != "SUCCESS"
    }
    return [
        f"I4: posting {key} went from {_judgement(earlier)} to {_judgement(after['postings'][key])}"
        for key, earlier in before["postings"].items()
        if key[0] not in safe
        and _judgement(after["postings"][key]) != _judgement(earlier)
        and after["postings"][key]["status"] != "OPEN"
    ]


def _judgement(row: dict[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in JUDGED)


def _final_mornings(before: Tables, after: Tables) -> list[str]:
    """I7, R39: a final header and its items stay as they are."""
    final = {day for day, row in before["headers"].items() if row["capture_status"] in FINAL}
    items = {key: row for key, row in after["items"].items() if key[0] in final}
    earlier = {key: row for key, row in before["items"].items() if key[0] in final}
    return [
        *(f"I7: the items of {final} changed" for _ in range(items != earlier)),
        *(
            f"I7: the header of {day} is final and changed"
            for day in final
            if after["headers"].get(day) != before["headers"][day]
        ),
    ]
