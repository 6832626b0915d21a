"""The command line in a process whose wall clock is wrong (``python -m <this module> tick ...``).

It says on the test's pipe that its clock is wrong only once it has asked the clock itself.
"""

import logging
import os
import sys

from collection_pipeline_tests.kit.shifted_clock import shift_wall_clock, wrong_by

SHIFT_SECONDS = "COLLECTION_TEST_CLOCK_SHIFT"
CLOCK_IS_WRONG = "clock_is_wrong"

if __name__ == "__main__":
    # Before anything else is imported: modules keep the names that they import.
    shift = float(os.environ[SHIFT_SECONDS])
    shift_wall_clock(shift)

    from collection_pipeline import checkpoints
    from collection_pipeline.cli.main import main
    from collection_pipeline_tests.kit.worker_entry import Points

    logging.basicConfig(level="WARNING", stream=sys.stderr)
    watched = Points(dict(os.environ))
    checkpoints.install(watched.reach)
    if set(wrong_by()) == {shift}:
        watched.reach(CLOCK_IS_WRONG)
    main()
