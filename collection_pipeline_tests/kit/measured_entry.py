"""The command line in a process that says at its end how much memory it ever held.

    python -m <this module> tick --drain --json

The last line of standard error is ``peak_rss_mb=<number>``; the exit code is the command's own.
"""

import re
import sys
from pathlib import Path

from collection_pipeline_tests.kit.worker_process import WorkerProcess

_PEAK = re.compile(r"^peak_rss_mb=(\d+)$", re.MULTILINE)


def peak_mb(worker: WorkerProcess) -> int:
    """What an ended worker of this module said."""
    (peak,) = _PEAK.findall(worker.output)
    return int(peak)


if __name__ == "__main__":
    from collection_pipeline.cli.main import main

    try:
        main()
    finally:
        # getrusage would tell the peak of the process that started this one, where that was larger.
        (kilobytes,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
        print(f"\npeak_rss_mb={int(kilobytes) // 1024}", file=sys.stderr, flush=True)
