"""A tagged release as its own program: unpacked from its wheel, run as child processes (R34).

Invariant: a child imports the older release and nothing of this tree, since it starts in the
unpacked folder and has only that on its path; its own ``check`` says which revision it was made
for, which tells the two apart.
"""

import json
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from collection_pipeline_tests.kit.command_line import CommandLine, Said, finished

RELEASES = Path(__file__).parents[1] / "releases"
FIRST = "0.1.0"
FIRST_REVISION = "0004"
"""The newest revision that release 0.1.0 brought."""
_ONE_AFTER_THE_OTHER = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from collection_pipeline.cli.main import run
for command in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(command)
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


def unpacked(version: str, folder: Path) -> Path:
    """The release's files in a folder of their own below ``folder``."""
    place = folder / version
    with zipfile.ZipFile(RELEASES / f"collection_pipeline-{version}-py3-none-any.whl") as wheel:
        wheel.extractall(place)
    return place


class OlderRelease:
    """The command line of an unpacked release; ``environment`` are its only settings."""

    def __init__(self, place: Path, environment: dict[str, str]) -> None:
        self.place = place
        self._line = CommandLine({**environment, "PYTHONPATH": str(place)})

    def __call__(self, *arguments: object) -> Said:
        """Run one command to its end."""
        return finished(self.process(*arguments))

    def all(self, commands: Sequence[Sequence[str]]) -> list[Said]:
        """Run commands one after the other in one child, since starting Python takes longest."""
        done = finished(self._start("-c", _ONE_AFTER_THE_OTHER, json.dumps(commands)))
        assert done.code == 0, done.err
        return [Said(*json.loads(line)) for line in done.out.splitlines()]

    def process(self, *arguments: object) -> "subprocess.Popen[str]":
        """Start one command; the caller waits for it (``finished``)."""
        return self._start("-m", "collection_pipeline.cli.main", *map(str, arguments))

    def _start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *words],
            cwd=self.place,
            env=self._line.process_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
