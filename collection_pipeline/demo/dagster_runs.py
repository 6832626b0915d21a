"""The demo's days are Dagster runs: launched as anybody would, asserted from the run table."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from collection_pipeline.demo.stack import DemoStack

RUN_TIMEOUT_SECONDS = 240
_COUNT_RUNS = """
import json, dagster
with dagster.DagsterInstance.get() as instance:
    runs = instance.get_runs()
    print(json.dumps([[run.job_name, run.status.value] for run in runs]))
"""


class DagsterRunFailed(Exception):
    """A Dagster run of the demo did not end well; its log says why."""


class DagsterRuns:
    """Runs jobs through ``dagster job execute``, one process each, their output in one log."""

    def __init__(self, stack: DemoStack) -> None:
        self._stack = stack
        self._log = stack.folder / "dagster.log"
        self._executed: Counter[str] = Counter()

    @property
    def log(self) -> Path:
        """Where the runs' output goes."""
        return self._log

    @property
    def executed(self) -> Counter[str]:
        """How many runs of each job this demo has executed."""
        return self._executed

    def start(self, job: str, config: dict[str, object] | None = None) -> subprocess.Popen[bytes]:
        """Begin one run; ``finish`` waits for it."""
        command = [
            sys.executable,
            "-m",
            "dagster",
            "job",
            "execute",
            "-m",
            "collection_pipeline.definitions",
            "-j",
            job,
        ]
        if config is not None:
            path = self._stack.folder / f"{job}.json"
            path.write_text(json.dumps(config), encoding="utf-8")
            command += ["-c", str(path)]
        self._executed[job] += 1
        with self._log.open("ab") as log:
            return subprocess.Popen(
                command, env=self._stack.environment, stdout=log, stderr=subprocess.STDOUT
            )

    def finish(self, job: str, process: subprocess.Popen[bytes]) -> None:
        """Wait for a run; raises ``DagsterRunFailed``."""
        try:
            code = process.wait(timeout=RUN_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise DagsterRunFailed(
                f"{job} did not end within {RUN_TIMEOUT_SECONDS} s; see {self._log}"
            ) from None
        if code != 0:
            raise DagsterRunFailed(f"{job} ended with exit code {code}; see {self._log}")

    def succeeded_in_run_table(self) -> Counter[str]:
        """Successful runs by job, read from Dagster's own storage."""
        result = subprocess.run(
            [sys.executable, "-c", _COUNT_RUNS],
            env=self._stack.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=RUN_TIMEOUT_SECONDS,
        )
        if result.returncode != 0:
            raise DagsterRunFailed("Dagster's run table could not be read")
        return Counter(job for job, status in json.loads(result.stdout) if status == "SUCCESS")
