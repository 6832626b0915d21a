"""Fuzzing with an oracle, without a database: thousands of lists of which one page is bent."""

from collections import Counter

import pytest

from collection_pipeline_tests.kit.fault_table import FORMS
from collection_pipeline_tests.kit.fuzzed_list import ROWS, catalogue, read_bent
from collection_pipeline_tests.kit.proof import record, tries

SEED = 20261201
PROMISE = "Hostile platform"


@pytest.mark.parametrize("form", FORMS)
def test_a_bent_list_never_gives_a_delta_over_postings_it_lost(form: str) -> None:
    """R10, R23, R23a, R32: never SUCCESS with fewer postings than are there and a delta."""
    assert len(catalogue(form)) == ROWS
    ends: Counter[str] = Counter()
    wrong = []
    for number in range(tries(40, long=1_000)):
        end = read_bent(form, f"{SEED}|{number}")
        ends[end.word] += 1
        if end.wrong:
            wrong.append(f"seed {SEED}|{number}: {end.word}, {end.wrong}")
    assert not wrong, "\n".join(wrong[:20])
    assert ends["COMPLETE"], "the mutations were all fatal: nothing was tried"
    assert ends["BAD_RESPONSE"], "no mutation was noticed: nothing was tried"
    record(PROMISE, lists_fuzzed=ends.total(), unsafe_ends=ends.total() - ends["COMPLETE"])
