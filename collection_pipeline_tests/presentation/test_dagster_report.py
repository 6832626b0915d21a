"""The weekly report as a run: what its event shows, and that it stays small (R45)."""

from base64 import b64decode
from collections.abc import Callable
from datetime import timedelta
from xml.etree import ElementTree

import dagster as dg
import pytest

from collection_pipeline_tests.kit.dagster_runs import failed_run, materialized, run_job
from collection_pipeline_tests.kit.database import Store
from collection_pipeline_tests.kit.report_days import add_day, complete, exhausted
from collection_pipeline_tests.kit.stack import Stack

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

OpenStack = Callable[..., Stack]
OpenInstance = Callable[[Stack], dg.DagsterInstance]
LARGEST_EVENT_CHARS = 20_000


def test_a_run_shows_numbers_tables_and_a_chart(
    open_stack: OpenStack, open_instance: OpenInstance, store: Store
) -> None:
    """Numbers plot, words explain; a label stays text; many sources do not make it larger."""
    stack = open_stack()
    store.now = None
    today = store.run(store.clock.today)
    for _ in range(30):
        search = store.add_source("saramin")
        for back in range(1, 9):
            cut = exhausted("LIST_PAGES", 50, 1000, stated_total=2594)
            add_day(store, search, today - timedelta(days=back), cut)
    add_day(store, store.add_source("lever"), today - timedelta(days=1), complete(2, 20))
    label = "| [x](http://y) <img src=z>\n#"
    store.write("UPDATE job_sources SET label = :label", label=label)
    before = store.tables()
    instance = open_instance(stack)
    assert run_job("collection_report", instance).success
    assert store.tables() == before

    (shown,) = materialized(instance, "collection_report")
    assert (shown["days"], shown["exhausted_days"], shown["list_pages"]) == (241, 240, 12_002)
    assert (shown["exhausted_share_saramin"], shown["exhausted_share_lever"]) == (1.0, 0.0)
    assert (shown["repeatedly_exhausted"], shown["active_sources"]) == (30, 31)
    assert "| saramin | list\\_pages | 50 | 163 | measured |" in shown["daily_budgets"]
    lines = shown["out_of_budget"].splitlines()
    assert len([line for line in lines if line.startswith("|")]) == 22
    assert lines[-1] == "10 more: see the command line."
    assert "\\| \\[x\\](http://y) \\<img src=z\\> \\#" in lines[2]
    assert "<img" not in shown["out_of_budget"].replace("\\<img", "")
    assert shown["days_not_usable"].count(": no cycles") == 20
    before_data, data = shown["how_days_ended"].rstrip(")").split("base64,")
    assert before_data.startswith("![") and before_data.endswith("(data:image/svg+xml;")
    svg = ElementTree.fromstring(b64decode(data))
    words = [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"saramin", "lever", "240 days", "1 days"} <= set(words)
    assert sum(len(str(value)) for value in shown.values()) < LARGEST_EVENT_CHARS


def test_the_period_is_the_runs_configuration(
    open_stack: OpenStack, open_instance: OpenInstance
) -> None:
    """28 days by default; nothing collected yet is a report too."""
    stack = open_stack()
    instance = open_instance(stack)
    run_job("collection_report", instance, {"days": 7})
    (shown,) = materialized(instance, "collection_report")
    today = stack.now().date()
    assert shown["first_day"] < shown["last_day"] <= today.isoformat()
    assert (shown["days"], shown["out_of_budget"]) == (
        0,
        "No source ran out of budget repeatedly.",
    )
    with pytest.raises(dg.DagsterInvalidConfigError):
        failed_run("collection_report", instance, {"days": "x"})
    with pytest.raises(dg.DagsterConfigMappingFunctionError):
        failed_run("collection_report", instance, {"days": 0})
