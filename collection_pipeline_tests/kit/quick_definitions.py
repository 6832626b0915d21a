"""What hosts load in production, with ticks asked for every few seconds, not each minute."""

import dagster as dg

from collection_pipeline import definitions, worker_definitions

ASKED_EVERY_SECONDS = 8


def _asked_often(defs: dg.Definitions) -> dg.Definitions:
    for sensor in defs.sensors or []:
        if sensor.name.endswith("dispatch_sensor"):
            assert isinstance(sensor, dg.SensorDefinition)
            sensor._min_interval = ASKED_EVERY_SECONDS
    return defs


first_host = _asked_often(definitions.defs)
added_host = _asked_often(worker_definitions.defs)
