"""What a host loads in production, with sensors that are asked every few seconds, not each minute.

``HOST_ROLE`` says which: the first host has the schedules, an added host only its own tick.
"""

import os

from collection_pipeline import definitions, worker_definitions

HOST_ROLE = "COLLECTION_TEST_HOST_ROLE"
FIRST, ADDED = "first", "added"
ASKED_EVERY_SECONDS = 8

defs = {FIRST: definitions, ADDED: worker_definitions}[os.environ[HOST_ROLE]].defs
for sensor in defs.sensors or []:
    sensor._min_interval = ASKED_EVERY_SECONDS
