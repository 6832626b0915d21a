"""What a deployment starts: a command line, judged by the program that would read it.

Invariant: a command counts as real when the installed program's own parser accepts it, and the
module, port and files in it are read from what it parsed, not from its spelling.
"""

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import click
import dagster as dg
import typer
from dagster._cli import create_dagster_cli
from dagster._daemon.cli import create_dagster_daemon_cli
from dagster_webserver.cli import dagster_webserver

from collection_pipeline.cli.commands import app

PROGRAMS: dict[str, Callable[[], Any]] = {
    "dagster": create_dagster_cli,
    "dagster-daemon": create_dagster_daemon_cli,
    "dagster-webserver": lambda: dagster_webserver,
    "collection-pipeline": lambda: typer.main.get_command(app),
}
NOTHING: Mapping[str, Path] = MappingProxyType({})
FIRST_HOST = "collection_pipeline.definitions"
ADDED_HOST = "collection_pipeline.worker_definitions"
ROLES = ("code server", "daemon", "migration", "operations", "webserver")
"""What production needs, each once (README, Production)."""


@dataclass(frozen=True)
class Command:
    """A parsed command: ``words`` such as ``dagster api grpc``, and what its options say."""

    words: tuple[str, ...]
    options: dict[str, Any]

    @property
    def role(self) -> str | None:
        """Which of the processes it is; None for none of them."""
        if self.words == ("dagster", "api", "grpc"):
            modules = {FIRST_HOST: "code server", ADDED_HOST: "added host"}
            return modules.get("".join(self.options["module_name"]))
        return {
            ("collection-pipeline", "db", "migrate"): "migration",
            ("collection-pipeline", "operations"): "operations",
            ("dagster-daemon", "run"): "daemon",
            ("dagster-webserver",): "webserver",
        }.get(self.words)

    @property
    def port(self) -> int | None:
        """Where it listens."""
        return self.options.get("port")

    @property
    def host(self) -> str | None:
        """The address that it listens on."""
        return self.options.get("host")

    @property
    def workspaces(self) -> tuple[str, ...]:
        """The files that name the code servers."""
        return tuple(self.options.get("workspace") or ())


def parsed(words: Sequence[str], files: Mapping[str, Path] = NOTHING) -> Command:
    """What the program makes of it; raises ``ValueError`` with the program's own complaint.

    ``files``: what lies at a path where the command runs, by that path.
    """
    words = [words[0], *(str(files.get(word, word)) for word in words[1:])]
    name = PurePosixPath(words[0]).name
    if name not in PROGRAMS:
        raise ValueError(f"no such program: {words[0]}")
    said, options, rest = [name], {}, list(words[1:])
    command, parent = PROGRAMS[name](), None
    try:
        while True:
            context = command.make_context(said[-1], rest, parent=parent)
            options.update(context.params)
            if not isinstance(command, click.Group) and not hasattr(command, "resolve_command"):
                break
            _, command, rest = command.resolve_command(
                context, [*context._protected_args, *context.args]
            )
            said.append(command.name)
            parent = context
    except Exception as refused:
        # Typer may bring a click of its own, whose errors are other classes.
        raise ValueError(f"{' '.join(words)}: {refused!r}") from None
    return Command(tuple(said), options)


def command_faults(words: Sequence[str], files: Mapping[str, Path] = NOTHING) -> Iterator[str]:
    """Why the command would not start; nothing where it would."""
    try:
        command = parsed(words, files)
    except ValueError as refused:
        yield str(refused)
        return
    if command.words == ("dagster", "api", "grpc"):
        module = "".join(command.options["module_name"] or ())
        try:
            found = importlib.import_module(module)
        except (ImportError, ValueError) as missing:
            yield f"{module!r}: {missing}"
        else:
            if not isinstance(getattr(found, "defs", None), dg.Definitions):
                yield f"{module} defines nothing for Dagster"
        if not command.port:
            yield "no port"


def understood(
    lines: Mapping[str, Sequence[str]], files: Mapping[str, Path] = NOTHING
) -> dict[str, Command]:
    """The commands that a program accepts; of the others ``command_faults`` speaks."""
    found = {}
    for name, words in lines.items():
        try:
            found[name] = parsed(words, files)
        except ValueError:
            continue
    return found


def role_faults(commands: Iterable[Command], expected: Sequence[str] = ROLES) -> Iterator[str]:
    """Each process once, and nothing else: two daemons would start everything twice.

    Silent where a command is not understood: it would be missing here too.
    """
    roles = Counter(command.role or " ".join(command.words) for command in commands)
    if roles.total() == len(expected) and roles != Counter(expected):
        yield f"starts {dict(sorted(roles.items()))}"
