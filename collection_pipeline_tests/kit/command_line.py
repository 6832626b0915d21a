"""The command line as a test calls it: in this process, or as the process that a shell starts.

Invariant: a command sees the ``COLLECTION_`` settings that the test gives it and no others, and the
signal handlers that it installs are gone when it has ended.
"""

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from collection_pipeline.cli.main import run

CONSOLE_ENTRY = Path(sys.executable).with_name("collection-pipeline")
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Said:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its standard output as one JSON document; the command must have ended well."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    @property
    def sentence(self) -> str:
        """The one line of an error; a traceback or a second line fails the test."""
        (line,) = self.err.splitlines()
        assert line.startswith("collection-pipeline: "), line
        return line.removeprefix("collection-pipeline: ")


class CommandLine:
    """Runs commands in this process with ``environment`` as their only settings."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)

    def __call__(self, *arguments: object, **settings: str) -> Said:
        """Run one command; ``settings`` (names without prefix) come on top of the environment."""
        out, err = io.StringIO(), io.StringIO()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with (
                patch.dict(os.environ, self.process_environment(**settings), clear=True),
                redirect_stdout(out),
                redirect_stderr(err),
            ):
                code = run([str(argument) for argument in arguments])
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        return Said(code, out.getvalue(), err.getvalue())

    def process(self, *arguments: object, **settings: str) -> "subprocess.Popen[str]":
        """Start the installed console entry; the caller ends it."""
        return subprocess.Popen(
            [str(CONSOLE_ENTRY), *map(str, arguments)],
            env=self.process_environment(**settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def in_process_of_its_own(self, *arguments: object, **settings: str) -> Said:
        """The same command through the installed console entry."""
        return finished(self.process(*arguments, **settings))

    def process_environment(self, **settings: str) -> dict[str, str]:
        """The machine's environment without foreign settings, with the test's own."""
        foreign = ("COLLECTION_", "DAGSTER_")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(foreign)}
        own = {f"COLLECTION_{name}": text for name, text in settings.items()}
        return {**kept, "DAGSTER_DISABLE_TELEMETRY": "yes", **self.environment, **own}


def finished(process: "subprocess.Popen[str]") -> Said:
    """Wait for a process's end; one that takes too long is killed by its id."""
    try:
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    return Said(process.returncode, out, err)
