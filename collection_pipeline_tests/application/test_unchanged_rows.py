"""An unchanged row is neither read nor written, and is a sighting all the same (R22a, R34a)."""

import pytest

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.domain.posting import (
    DetailState,
    KnownPosting,
    ListedPosting,
    PostingContent,
    PostingFields,
)
from collection_pipeline.domain.slices import SightedPosting
from collection_pipeline.platforms.contract import BadResponse, ListPage
from collection_pipeline_tests.kit.scripted_cycle import ScriptedCycle
from collection_pipeline_tests.kit.scripted_platform import ScriptedPlatform

STORED = KnownPosting("1:a", DetailState.NONE, seen_in_cycle=False, unparsed=("salary",))


def unreadable() -> PostingContent:
    """A row that nobody may read."""
    raise BadResponse("a row was read")


def sighted(signature: str, known: KnownPosting | None) -> SightedPosting:
    """A row that must not be read."""
    return SightedPosting(ListedPosting("1", signature, unreadable), 0, known, wants_detail=False)


@pytest.mark.parametrize(
    ("signature", "known"),
    [
        ("1:a", None),
        ("1:b", STORED),
        ("2:a", STORED),
        ("1:a", KnownPosting("1:a", DetailState.NONE, seen_in_cycle=True, body_trimmed=True)),
    ],
)
def test_a_new_changed_or_trimmed_row_is_read(signature: str, known: KnownPosting | None) -> None:
    """R34a: only what is stored as it is listed is left alone."""
    assert not sighted(signature, known).is_unchanged
    with pytest.raises(BadResponse, match="was read"):
        _ = sighted(signature, known).unparsed


def test_what_did_not_parse_of_an_unchanged_row_is_remembered() -> None:
    """R10: drift is counted each day, although the row is not read again."""
    assert sighted("1:a", STORED).is_unchanged
    assert sighted("1:a", STORED).unparsed == ("salary",)


def test_the_second_day_reads_no_row_and_sights_them_all() -> None:
    """R22a: what the platform sends again costs no reading, no company and no detail."""
    reads: list[str] = []

    def row(job_id: str) -> ListedPosting:
        def read() -> PostingContent:
            reads.append(job_id)
            return PostingContent(PostingFields(title="Engineer", company_name=job_id), "{}")

        return ListedPosting(job_id, "1:same", read)

    page = ListPage([row("a"), row("b")], None)
    cycle = ScriptedCycle(ScriptedPlatform([page], has_details=False))
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert reads == ["a", "b"], "each once"
    asked = len(cycle.store.company_reads)
    cycle.next_day()
    cycle.platform.pages = [ListPage([row("a"), row("b")], None)]
    assert cycle.run_to_end() is CycleStatus.SUCCESS
    assert reads == ["a", "b"]
    assert len(cycle.store.company_reads) == asked
    assert cycle.cycle.fetched_count == 2


def test_a_row_that_cannot_be_read_refuses_its_whole_page_before_anything_is_kept() -> None:
    """R10, R20: a page is kept whole or not at all."""
    fine = ListedPosting.of("a", PostingFields(title="Engineer"), "1:a", "{}")
    page = ListPage([fine, ListedPosting("b", "1:b", unreadable)], None)
    cycle = ScriptedCycle(ScriptedPlatform([page], has_details=False))
    outcome = cycle.run_slice()
    assert cycle.cycle.failure_reason is not None
    assert cycle.cycle.failure_reason.value == "BAD_RESPONSE"
    assert (outcome.work.postings, outcome.work.company_ids) == ([], {})


def test_a_row_is_read_once_and_what_it_was_read_from_is_forgotten() -> None:
    """R22a: nothing grows with the catalogue."""
    calls: list[int] = []

    def read() -> PostingContent:
        calls.append(1)
        return PostingContent(PostingFields(title="Engineer"), "{}")

    listed = ListedPosting("1", "1:a", read)
    assert listed.fields.title == listed.content.fields.title == "Engineer"
    assert calls == [1]
