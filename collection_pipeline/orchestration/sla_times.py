"""When Dagster starts the capture and its recovery: minutes of the day around the cutoff (R38).

Cron knows no seconds, so the capture's run is started a minute ahead and waits by the database's
clock; recovery comes in the first full minute by which the tolerance has surely passed.
"""

from collections.abc import Mapping
from datetime import time
from math import ceil

from collection_pipeline.settings import InvalidSetting, Settings, load_settings

CAPTURE_AHEAD_MINUTES = 1
MINUTES_A_DAY = 24 * 60


def settings_or_defaults(environ: Mapping[str, str]) -> Settings:
    """The settings in force, or all defaults where one is wrong.

    A wrong value must not take the whole code location away: each schedule and run that reads the
    settings says which one is wrong.
    """
    try:
        return load_settings(environ)
    except InvalidSetting:
        return load_settings({})


def capture_cron(settings: Settings) -> str:
    """One minute before the cutoff; of the cutoff 00:00 that is 23:59 of the day before."""
    return _cron(settings.sla_cutoff, -CAPTURE_AHEAD_MINUTES)


def recovery_cron(settings: Settings) -> str:
    """The cutoff plus the tolerance, up to the full minute, plus one: 09:02 for 09:00 and 60 s."""
    return _cron(settings.sla_cutoff, ceil(settings["SLA_CAPTURE_TOLERANCE_SECONDS"] / 60) + 1)


def _cron(cutoff: time, minutes: int) -> str:
    of_day = (cutoff.hour * 60 + cutoff.minute + minutes) % MINUTES_A_DAY
    return f"{of_day % 60} {of_day // 60} * * *"
