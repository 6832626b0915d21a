"""How many cycles one tick claims: its limit, also where all work is on one host (R5)."""

from collection_pipeline_tests.kit.invariants import assert_invariants
from collection_pipeline_tests.scenario.conftest import OpenStack

LIMIT = 6
CAP = 2


def test_a_tick_claims_its_whole_limit_when_only_one_host_has_work(open_stack: OpenStack) -> None:
    """MAX_LEASES_PER_HOST holds only as long as other hosts have due work."""
    stack = open_stack(TICK_CLAIM_LIMIT=LIMIT, MAX_LEASES_PER_HOST=CAP)
    for number in range(LIMIT + 1):
        stack.add("saramin", f"search{number}-3")
    first = stack.tick(drain=False)
    assert (first.prepared, first.claimed, first.slices) == (LIMIT + 1, LIMIT, LIMIT)
    assert stack.tick(drain=False).claimed == 1
    assert_invariants(stack)


def test_a_tick_claims_nothing_twice_that_it_has_just_put_back(open_stack: OpenStack) -> None:
    """R6: to the back of the queue, so for another tick; a drain goes on until the end."""
    stack = open_stack(TICK_CLAIM_LIMIT=LIMIT, SLICE_MAX_LIST_PAGES=1)
    source_id = stack.add("saramin", "search-330")
    summary = stack.tick(drain=False)
    assert (summary.claimed, summary.continued) == (1, 1)
    assert stack.cycle(source_id)["list_page_count"] == 1
    drained = stack.tick(drain=True)
    assert (drained.claimed, drained.ended["SUCCESS"]) == (2, 1)
    assert_invariants(stack)


def test_a_tick_finds_waiting_cycles_whose_host_has_no_row(open_stack: OpenStack) -> None:
    """R5: claims look for work by hosts; a queue that was restored or filled by hand has none."""
    stack = open_stack(SLICE_MAX_LIST_PAGES=1)
    source_id = stack.add("saramin", "search-330")
    assert stack.tick(drain=False).continued == 1
    stack.write("DELETE FROM collection_host_claims")
    assert stack.pipeline.dispatch.has_work(), "or the sensor would start no tick"
    assert stack.tick(drain=True).ended["SUCCESS"] == 1
    assert stack.cycle(source_id)["list_page_count"] == 3
