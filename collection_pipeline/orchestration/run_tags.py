"""What every job tells Dagster about its runs: never repeated, bounded, and in which order (R35).

Invariant: the 09:00 snapshot leaves the queue before anything else, and no job is without a longest
time, since a run whose process died would otherwise stay STARTED for ever.
"""

SHORT_SECONDS = 900
DRAIN_SECONDS = 43_200
CAPTURE_SECONDS = 7_800
"""The largest tolerance and late start (3,600 s each), the lead, and the notification."""
ALERTS_SECONDS = 3_600
OBSERVATION_SECONDS = 300

CAPTURE_PRIORITY = 10
RECOVERY_PRIORITY = 8
CREATION_PRIORITY = 5
ALERTS_PRIORITY = 3
DISPATCH_PRIORITY = 0
CLEANUP_PRIORITY = -1
REPORT_PRIORITY = -2
PRUNING_PRIORITY = -3
RETENTION_PRIORITY = -3
OBSERVATION_PRIORITY = -1

DISPATCH_TAG = "collection/dispatch"
"""``dagster.yaml`` limits how many runs with this tag overlap."""


def run_tags(*, priority: int, longest_seconds: int) -> dict[str, str]:
    """A job's tags. A higher ``priority`` leaves the queue first."""
    return {
        "dagster/max_runtime": str(longest_seconds),
        "dagster/max_retries": "0",
        "dagster/priority": str(priority),
    }
