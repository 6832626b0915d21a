"""Rules of ``deploy/cron``: the script is run, with a clock, a sleep and a program of the test.

Invariant: nothing real is started and nobody waits. ``date`` is the machine's own, told another
time, so zones are really computed.
"""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from collection_pipeline_tests.kit.deploy_rules import LIBRARY_COMMAND, Fault, broken_rules

DUE = "2026-12-01T04:00:00+09:00"
ZONES = ("UTC0", "KST-9", "PST8PDT")
SWITCH = "LIBRARY_INGEST_ENABLED"
PROGRAM = """#!/bin/sh
echo "$*" >> "$STUB/calls"
echo "$COLLECTION_DATABASE_URL" > "$STUB/seen"
code=$(sed -n "$(wc -l < "$STUB/calls")p" "$STUB/codes")
exit "${code:-99}"
"""


@dataclass(frozen=True)
class Outcome:
    """What one call of the script did."""

    code: int
    calls: list[str]
    slept: list[str]
    database_url: str


@dataclass(frozen=True)
class CronFiles:
    """The folder, and a way to call its script."""

    folder: Path

    def text(self, name: str) -> str:
        """One file's text."""
        return (self.folder / name).read_text("utf-8")

    def call(
        self,
        codes: Sequence[int] = (0,),
        *,
        at: str = DUE,
        zone: str = "KST-9",
        enabled: str = "1",
        mode: int = 0o600,
        arguments: Sequence[str] = (),
    ) -> Outcome:
        """Runs the script once; ``codes`` are the program's exit codes, call by call."""
        with tempfile.TemporaryDirectory() as name:
            stub = Path(name)
            moment = int(datetime.fromisoformat(at).timestamp())
            date = shlex.quote(shutil.which("date") or "/bin/date")
            programs = {
                "date": f'#!/bin/sh\nexec {date} -d @{moment} "$@"\n',
                "sleep": '#!/bin/sh\necho "$*" >> "$STUB/slept"\n',
                "collection-pipeline": PROGRAM,
            }
            for program, text in programs.items():
                (stub / program).write_text(text, "utf-8")
                (stub / program).chmod(0o755)
            (stub / "codes").write_text("".join(f"{code}\n" for code in codes), "utf-8")
            settings = stub / "settings"
            settings.write_text(f"{SWITCH}={enabled}\nCOLLECTION_DATABASE_URL='u&p'\n", "utf-8")
            settings.chmod(mode)
            ended = subprocess.run(
                ["sh", str(self.folder / "library-ingest.sh"), str(settings), *arguments],
                env={"PATH": f"{stub}:{os.environ['PATH']}", "TZ": zone, "STUB": name},
                capture_output=True,
                timeout=20,
                check=False,
            )
            return Outcome(
                ended.returncode,
                lines(stub / "calls"),
                lines(stub / "slept"),
                "".join(lines(stub / "seen")),
            )


def cron_faults(deploy: Path) -> list[Fault]:
    """The rules that the script, its crontab and its settings break."""
    return broken_rules(RULES, CronFiles(deploy / "cron"))


def off_by_default(files: CronFiles) -> Iterator[str]:
    """The example is off, and off starts nothing (R50)."""
    if f"{SWITCH}=0" not in files.text("library-ingest.env.example").splitlines():
        yield "the example is not off"
    off = files.call(enabled="0")
    if (off.code, off.calls) != (0, []):
        yield f"off: {off}"


def monthly_in_seoul(files: CronFiles) -> Iterator[str]:
    """Whatever the machine's zone (R46)."""
    for zone in ZONES:
        if len(files.call(zone=zone).calls) != 1:
            yield f"nothing starts on a machine in {zone}"
    for at in ("2026-12-01T03:59:59+09:00", "2026-12-01T05:00:00+09:00", "2026-12-02T04:00+09:00"):
        if files.call(at=at).calls:
            yield f"starts at {at}"
    if len(files.call(at="2026-12-17T15:00+09:00", enabled="0", arguments=["now"]).calls) != 1:
        yield "cannot be started by hand"


def called_each_hour(files: CronFiles) -> Iterator[str]:
    """The crontab leaves the day and the hour to the script."""
    text = files.text("library-ingest.crontab")
    jobs = [line for line in text.splitlines() if line and not line.startswith(("#", "PATH="))]
    fields = [job.split() for job in jobs]
    if [one[:5] for one in fields] != [["0", "*", "*", "*", "*"]]:
        yield f"called at {jobs}"
    if not fields[0][5].endswith("/library-ingest.sh") or not fields[0][6].endswith(".env"):
        yield f"calls {fields[0][5:]}"


def runs_the_ingest(files: CronFiles) -> Iterator[str]:
    """The documented command, with the settings in its environment."""
    done = files.call()
    if done.calls != [" ".join(LIBRARY_COMMAND)]:
        yield f"calls {done.calls}"
    if done.database_url != "u&p":
        yield "the settings do not reach the program"


def only_try_later_is_repeated(files: CronFiles) -> Iterator[str]:
    """Exit code 75, twice, an hour apart; the last code is the script's own."""
    for code in (0, 1, 2, 3, 4):
        once = files.call([code, 0])
        if (once.code, len(once.calls)) != (code, 1):
            yield f"after {code}: {once}"
    later = files.call([75, 0])
    if (later.code, len(later.calls), later.slept) != (0, 2, ["3600"]):
        yield f"after 75: {later}"
    given_up = files.call([75, 75, 75, 75])
    if (given_up.code, len(given_up.calls), len(given_up.slept)) != (75, 3, 2):
        yield f"after 75 each time: {given_up}"


def settings_are_private(files: CronFiles) -> Iterator[str]:
    """No file, or one that others may read, is refused; the key has its own (R29)."""
    for mode in (0o640, 0o604):
        refused = files.call(mode=mode)
        if (refused.code, refused.calls) != (3, []):
            yield f"{mode:o}: {refused}"
    for path in ([], ["/no/such/settings"], ["settings"], ["/"]):
        script = ["sh", str(files.folder / "library-ingest.sh"), *path]
        lost = subprocess.run(script, capture_output=True, timeout=20, check=False, cwd="/")
        if lost.returncode != 3 or len(lost.stderr.splitlines()) != 1:
            yield f"settings {path}: {lost}"
    if "COLLECTION_LIBRARY_SERVICE_KEY=" in files.text("library-ingest.env.example"):
        yield "the example holds the key"
    if "COLLECTION_LIBRARY_SERVICE_KEY_FILE=" not in files.text("library-ingest.env.example"):
        yield "the example does not say where the key is"


def lines(path: Path) -> list[str]:
    """A file's lines; none if nothing was written."""
    return path.read_text("utf-8").splitlines() if path.exists() else []


RULES: dict[str, Callable[[CronFiles], Iterator[str]]] = {
    "cron starts nothing until it is switched on": off_by_default,
    "cron starts the ingest at 04:00 in Seoul on the first": monthly_in_seoul,
    "cron calls the script each hour": called_each_hour,
    "cron runs the documented command": runs_the_ingest,
    "cron repeats only what may be tried later": only_try_later_is_repeated,
    "cron's settings are private": settings_are_private,
}
