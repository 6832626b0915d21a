"""Fuzzing with an oracle: a bent body never closes a posting that is still there.

The platform's catalogue is the oracle. Only platforms that state a total can be judged so: where
there is none, a list without some of its rows is a shorter list, whoever reads it.
"""

from math import floor

import pytest

from collection_pipeline_tests.kit.invariants import assert_invariants, judged
from collection_pipeline_tests.kit.mutating_proxy import MutatingProxy
from collection_pipeline_tests.kit.simulator_calls import source
from collection_pipeline_tests.scenario.conftest import OpenStack

SEARCHES = 24
ROWS = {"saramin": 120, "jumpit": 40, "greenhouse": 30}
PAGES = {"saramin": 2, "jumpit": 3, "greenhouse": 1}
PARAMETERS = {"saramin": "keywords", "jumpit": "keyword", "greenhouse": ""}
TOLERANCE = {"saramin": 0.01, "jumpit": 0.10, "greenhouse": 0.01}
SEED = 1


@pytest.mark.parametrize("platform", ROWS)
def test_a_bent_body_never_judges_postings_that_are_still_there(
    open_stack: OpenStack, platform: str
) -> None:
    """R10, R23a, R32: FAILED, incomplete, or within the platform's tolerance of its total."""
    searches = [f"search{number}" for number in range(SEARCHES)]
    stack = open_stack(
        *(source(platform, search, ROWS[platform]) for search in searches), HOST_MIN_DELAY_MS=1
    )
    sources = {stack.add(platform, search, detail_mode="off"): search for search in searches}
    upstream = stack.environment[f"COLLECTION_{platform.upper()}_BASE_URL"]
    with MutatingProxy(upstream, SEED, PARAMETERS[platform], PAGES[platform]) as proxy:
        through = stack.open_pipeline(**{f"{platform.upper()}_BASE_URL": proxy.base_url})
        stack.tick(pipeline=through)
        assert {stack.end_of(source_id) for source_id in sources} == {("SUCCESS", None)}
        before = {source_id: judged(stack, source_id) for source_id in sources}
        stack.set_clock(2)
        proxy.armed = True
        stack.tick(pipeline=through)

    assert len(proxy.bent) == SEARCHES
    allowed = max(3, floor(ROWS[platform] * TOLERANCE[platform]))
    wrong = []
    ends = set()
    for source_id, search in sources.items():
        cycle = stack.cycle(source_id, 2)
        ends.add((cycle["cycle_status"], cycle["is_complete"]))
        after = judged(stack, source_id)
        hurt = [key for key in before[source_id] if after[key]["status"] != "OPEN"]
        is_safe = cycle["cycle_status"] == "SUCCESS" and cycle["is_complete"]
        if len(hurt) > (allowed if is_safe else 0) or not set(before[source_id]) <= set(after):
            told = proxy.bent.get(search) or list(proxy.bent.values())
            wrong.append(f"{search} ({told}): {stack.end_of(source_id, 2)} missed {len(hurt)}")
    assert not wrong
    assert ("FAILED", 0) in ends
    assert ("SUCCESS", 1) in ends, "the mutations were all fatal: nothing was tried"
    assert_invariants(stack, bodies_as_logged=False)
