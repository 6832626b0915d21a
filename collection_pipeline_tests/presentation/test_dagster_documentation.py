"""What an operator reads in the Dagster UI: words, owners, kinds, and where to look further."""

import re
from dataclasses import replace

import pytest

from collection_pipeline.definitions import defs
from collection_pipeline_tests.kit.dagster_world import ROOT
from collection_pipeline_tests.kit.definition_walk import Shown, anchors_of, links_of, walked

# Dagster hands its own parameter on when it binds a sensor to its job.
pytestmark = pytest.mark.filterwarnings("ignore:Parameter `owners`")

SHORTEST_CHARS = 20
OWNER = re.compile(r"team:\w[\w-]*|[^@\s]+@[^@\s]+\.\w+")
DOCS = ROOT / "docs"
BUILT_BY = {
    "job": "build it with @pipeline_job (orchestration/pipeline_job.py)",
    "op": "build it with @pipeline_op (orchestration/pipeline_job.py)",
    "schedule": "build it with pipeline_schedule (orchestration/pipeline_automation.py)",
    "sensor": "build it with @pipeline_sensor (orchestration/pipeline_automation.py)",
}


def missing_from(shown: Shown) -> list[str]:
    """What a definition does not tell, one sentence each, with how to mend it."""
    found = []
    if not shown.description or len(shown.description) < SHORTEST_CHARS:
        found.append("has no description in words")
    if shown.owners is not None and not (
        shown.owners and all(OWNER.fullmatch(owner) for owner in shown.owners)
    ):
        found.append("has no owner (a mail address or team:NAME)")
    if shown.tags is not None and not shown.tags:
        found.append("has no tag")
    if shown.kinds is not None and not shown.kinds:
        found.append("has no kind (mysql, python, ...)")
    found += [
        f"does not describe its field {name!r}" for name, text in shown.fields.items() if not text
    ]
    if shown.place.startswith("job ") and "**If a run fails:**" not in (shown.description or ""):
        found.append("does not say what to do when a run fails, nor when it runs")
    advice = BUILT_BY.get(shown.place.split()[0])
    return [f"{shown.place} {one}" + (f"; {advice}" if advice else "") for one in found]


def dead_links_of(shown: Shown) -> list[str]:
    """Documents and anchors that its description names and that are not there."""
    found = []
    for page, anchor in links_of(shown.description or ""):
        path = DOCS / page
        if not path.is_file() or (anchor is not None and anchor not in anchors_of(path)):
            found.append(f"{shown.place} leads to docs/{page}#{anchor}, which is not there")
    return found


def test_every_definition_tells_what_an_operator_needs() -> None:
    """Style: job, op, schedule, sensor, resource, asset and check, with their fields."""
    shown = walked(defs)
    kinds = {one.place.split()[0] for one in shown}
    assert kinds == {"job", "op", "schedule", "sensor", "resource", "asset", "checks", "check"}
    missing = [sentence for one in shown for sentence in missing_from(one)]
    assert not missing, "\n".join(missing)


def test_every_link_of_a_description_leads_somewhere() -> None:
    """R45: a page that has been renamed is found here, and not at 3 a.m."""
    shown = walked(defs)
    dead = [sentence for one in shown for sentence in dead_links_of(one)]
    assert not dead, "\n".join(dead)
    linked = {one.place for one in shown if links_of(one.description or "")}
    assert {"job sla_snapshot", "check ticks_on_time"} <= linked


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"description": ""}, "no description"),
        ({"description": "Some words, but no more than that."}, "when a run fails"),
        ({"owners": ()}, "no owner"),
        ({"owners": ("nobody",)}, "no owner"),
        ({"tags": {}}, "no tag"),
        ({"kinds": frozenset()}, "no kind"),
        ({"fields": {"drain": None}}, "its field 'drain'"),
    ],
)
def test_the_walk_finds_what_is_missing(change: dict[str, object], complaint: str) -> None:
    """A walk that finds nothing would prove nothing."""
    whole = Shown(
        "job example",
        "Does something.\n\n**If a run fails:** docs/runbook.md#ticks_on_time.",
        owners=("team:collection",),
        tags={"a": "b"},
        kinds=frozenset({"mysql"}),
        fields={"drain": "Go on."},
    )
    assert missing_from(whole) == [] and dead_links_of(whole) == []
    assert any(complaint in sentence for sentence in missing_from(replace(whole, **change)))  # type: ignore[arg-type]  # by name


@pytest.mark.parametrize("link", ["docs/runbook.md#no_such_alarm", "docs/nowhere.md"])
def test_the_walk_finds_a_dead_link(link: str) -> None:
    """As above."""
    assert dead_links_of(Shown("job example", f"See {link}."))
