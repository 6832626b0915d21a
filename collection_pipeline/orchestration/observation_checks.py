"""Observation checks in Dagster: executed by hand, and by a job that records all of them (R45).

Thin: what is asked and how it is judged is ``collection.observation``'s.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from collection_pipeline.collection.observation import (
    machine_checks,
    morning_checks,
    queue_checks,
    source_checks,
)
from collection_pipeline.collection.observation.observed import (
    RUNBOOK,
    Observation,
    ObservationState,
)
from collection_pipeline.collection.observation.service import (
    NAMES,
    ObservationChecks,
    opened_checks,
)
from collection_pipeline.orchestration.checks import ASSET_OF, finding_of
from collection_pipeline.orchestration.pipeline_automation import pipeline_schedule
from collection_pipeline.orchestration.pipeline_job import Concern, pipeline_job, pipeline_op
from collection_pipeline.orchestration.resources import CollectionQueue, PlatformClients
from collection_pipeline.orchestration.run_result import show_result
from collection_pipeline.orchestration.run_tags import OBSERVATION_PRIORITY, OBSERVATION_SECONDS
from collection_pipeline.orchestration.told_failure import told_failure

DESCRIPTIONS = {
    morning_checks.CAPTURED: (
        "The newest morning whose cutoff has passed ended CAPTURED or NOT_APPLICABLE. MISSED, or "
        "PENDING after its time, means that nobody can know any more how the sources stood."
    ),
    morning_checks.BEFORE_NOTIFICATION: (
        "Every morning message of the last week was made after its snapshot was final. One that "
        "was not may have told a number that changed afterwards."
    ),
    queue_checks.TICKS: (
        "Nothing that only a tick can do has waited for minutes without a sign of one."
    ),
    queue_checks.STUCK_LEASE: (
        "No lease is past its end for longer than recovery takes. A stuck one keeps its source "
        "from being collected, and its host's place taken."
    ),
    queue_checks.SEEN_ROWS: (
        "The last 10:15 cleanup left no seen row of a cycle that ended over 48 hours before it, or "
        "of a past day's unfinished cycle. Rows left over mean that the cleanup did not run or "
        "cannot keep up."
    ),
    source_checks.BOARDS: (
        "No company board ran out of its daily budget, today or yesterday. A board should fit."
    ),
    source_checks.INTERVALS: (
        "Within each slice of the last 24 hours the time between two requests was at least the "
        "delay of the host: its platform's or the source's own, whichever is longer."
    ),
    source_checks.BROKEN: (
        "No active source has been abnormal for so many days that it counts as broken (R33)."
    ),
    source_checks.CONFIRMED: (
        "No active source shows many open postings that no cycle has confirmed lately (R32a): a "
        f"warning from {100 * source_checks.WARNING_SHARE:.0f} %, an alarm from "
        f"{100 * source_checks.ALARM_SHARE:.0f} %."
    ),
    machine_checks.DAEMON: (
        "Each of Dagster's daemons that start runs has left a heartbeat within five minutes."
    ),
    machine_checks.SCHEMA: "The database has every revision that this release needs.",
    machine_checks.CLOCKS: (
        "Database and host tell the same time: a warning from "
        f"{machine_checks.CLOCK_WARNING_SECONDS:.0f} s, an alarm from "
        f"{machine_checks.CLOCK_ALARM_SECONDS:.0f} s apart."
    ),
    machine_checks.GROWTH: (
        "The tables grow by less than COLLECTION_TABLE_GROWTH_ALARM_MB a day, over the last week; "
        "half of it is a warning. Today's figure is kept by the job `observation_checks`."
    ),
}


@dg.multi_asset_check(
    name="observations",
    specs=[
        dg.AssetCheckSpec(
            name,
            asset=ASSET_OF[name],
            description=f"{DESCRIPTIONS[name]} What to do: `{RUNBOOK}#{name}`.",
        )
        for name in NAMES
    ],
    description="Asks the database now; the job `observation_checks` does so every half hour.",
    can_subset=True,
)
@told_failure
def observations(
    context: dg.AssetCheckExecutionContext,
    queue: CollectionQueue,
    platform_clients: PlatformClients,
) -> Iterator[dg.AssetCheckResult]:
    """Reads only."""
    chosen = {key.name for key in context.selected_asset_check_keys}
    with _checks(queue, platform_clients) as checks:
        for name in NAMES:
            if name in chosen:
                yield finding_of(checks.observe_one(name)).as_result()


@pipeline_op(
    out=dg.Out(dg.Nothing),
    description=(
        "Ask every observation check, record what each found, and keep the day's table sizes (R45)."
    ),
)
def observe(
    context: dg.OpExecutionContext, queue: CollectionQueue, platform_clients: PlatformClients
) -> Iterator[dg.AssetCheckEvaluation | dg.Output[None]]:
    """An alarm is what the run found, not a failure of the run."""
    with _checks(queue, platform_clients) as checks:
        found = checks.observe()
        for one in found:
            yield finding_of(one).as_evaluation()
        _keep_sizes(checks, found)
    for one in found:
        if one.state is ObservationState.ALARM:
            context.log.warning("%s: %s (%s)", one.name, one.sentence, one.runbook)
    states = [one.state for one in found]
    result = show_result(context, observed_result(found))
    yield dg.Output(
        None,
        metadata={
            "result": result,
            **{state.value.lower(): states.count(state) for state in ObservationState},
            "alarms": ", ".join(one.name for one in found if one.state is ObservationState.ALARM),
        },
    )


@pipeline_job(
    does=(
        "Asks the observation checks and keeps what they found, which the assets' pages show "
        "under Checks. Ends well also when a check alarms: the run's tag `result` names it."
    ),
    when="Every 30 minutes (`observation_checks_schedule`).",
    if_it_fails=(
        "Nobody watches meanwhile: `collection-pipeline doctor` asks the same. What each alarm "
        "means: docs/runbook.md."
    ),
    concern=Concern.UPKEEP,
    priority=OBSERVATION_PRIORITY,
    longest_seconds=OBSERVATION_SECONDS,
)
def observation_checks() -> None:
    """Observes."""
    observe()


observation_checks_schedule = pipeline_schedule(
    "observation_checks_schedule",
    job=observation_checks,
    cron_schedule="*/30 * * * *",
    description="Every 30 minutes in Seoul: whether the pipeline keeps its promises (R45).",
)
OBSERVATION_CHECKS = [observations]


def observed_result(found: list[Observation]) -> str:
    """``ALARM: ticks_on_time; 11 ok, 1 warning``: what wants somebody comes first."""
    alarms = [one.name for one in found if one.state is ObservationState.ALARM]
    counts = Counter(one.state for one in found if one.state is not ObservationState.ALARM)
    rest = ", ".join(f"{count} {state.value}" for state, count in counts.items())
    return "; ".join(part for part in ("ALARM: " * bool(alarms) + ", ".join(alarms), rest) if part)


@contextmanager
def _checks(queue: CollectionQueue, clients: PlatformClients) -> Iterator[ObservationChecks]:
    with (
        # A schema that is behind is one of the things to be found.
        queue.pipeline(clients, migrated=False) as pipeline,
        opened_checks(
            pipeline, queue.database_url, pipeline.settings.dagster_database_url
        ) as checks,
    ):
        yield checks


def _keep_sizes(checks: ObservationChecks, found: list[Observation]) -> None:
    """Only where the table for them is there."""
    if any(one.name == machine_checks.SCHEMA and one.state is ObservationState.OK for one in found):
        checks.keep_sizes()
