"""Where the queue is: by reference to a variable, or from the file that a variable names (R29).

Dagster shows a resource's configuration, so the address with its password is never a part of it:
either the variable's name stands there, or nothing, and each run reads the file.
"""

import os

import dagster as dg

from collection_pipeline.settings import PREFIX, InvalidSetting, Settings

VARIABLE = f"{PREFIX}DATABASE_URL"


def named_queue() -> str:
    """What a resource is given: the variable by reference, nothing where a file is named."""
    return "" if f"{VARIABLE}_FILE" in os.environ else dg.EnvVar(VARIABLE)


def queue_address(given: str, settings: Settings) -> str:
    """The address that the resource was given, else that of ``settings``.

    Raises ``InvalidSetting`` where neither names one.
    """
    address = given or settings.database_url
    if address is None:
        raise InvalidSetting(f"set {VARIABLE} or {VARIABLE}_FILE: no database is named")
    return address
