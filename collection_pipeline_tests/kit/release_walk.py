"""Walks a page of commands: each block is done as it stands there, and must show what it says.

Invariant: the page is the only place where commands and outcomes are written. Blocks of a section
are done in their order; one without a "You see" line, or one that was never done, fails.
A line's code is what the output must contain; "or" between two pieces of code leaves the choice.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

from sqlalchemy import Connection, text

from collection_pipeline_tests.kit.command_line import CommandLine
from collection_pipeline_tests.kit.stack import Stack

PROGRAM = "collection-pipeline "
PROMISE = "You see "
TOP = ""
"""The section before the first heading of level 2."""
_BLOCK = re.compile(r"^## ([^\n]+)$|^```(sh|sql)\n(.*?)^```\n\n([^\n]*)", re.MULTILINE | re.DOTALL)
_CHOICE = re.compile(r"`[^`]+`(?: or `[^`]+`)*")


@dataclass(frozen=True)
class Block:
    """One fenced block; each of ``promised`` is a choice of words, one of which must be shown."""

    section: str
    kind: str
    code: str
    promised: tuple[tuple[str, ...], ...]

    @property
    def commands(self) -> list[list[str]]:
        """Arguments of each line, without the program's name."""
        lines = self.code.strip().splitlines()
        assert all(line.startswith(PROGRAM) for line in lines), self.code
        return [shlex.split(line.removeprefix(PROGRAM)) for line in lines]


def blocks_of(page: Path) -> Iterator[Block]:
    """Every block of commands or SQL, in order."""
    section = TOP
    for heading, kind, code, after in _BLOCK.findall(page.read_text("utf-8")):
        if heading:
            section = heading
            continue
        assert after.startswith(PROMISE), f"{page.name}: what does this show? {code}"
        chosen = tuple(tuple(re.findall(r"`([^`]+)`", one)) for one in _CHOICE.findall(after))
        assert chosen, f"{page.name}: nothing to look for in {after!r}"
        yield Block(section, kind, code, chosen)


class Walk:
    """Does the blocks of one page on a stack, section by section."""

    def __init__(self, page: Path, stack: Stack) -> None:
        self._stack = stack
        self._line = CommandLine(stack.environment)
        self._left = list(blocks_of(page))
        self._done: list[Block] = []

    @property
    def left(self) -> list[Block]:
        """What was not done yet."""
        return list(self._left)

    def next(self, section: str) -> str:
        """Does the section's next block; returns what it printed."""
        block = next(one for one in self._left if one.section == section)
        self._left.remove(block)
        self._done.append(block)
        return self._do(block)

    def again(self, section: str, number: int = 0) -> str:
        """Does a block of the section once more."""
        return self._do([one for one in self._done if one.section == section][number])

    def _do(self, block: Block) -> str:
        shown = self._ask(block.code) if block.kind == "sql" else self._run(block)
        for choice in block.promised:
            assert any(words in shown for words in choice), f"{choice} of {block.code}\n{shown}"
        return shown

    def _run(self, block: Block) -> str:
        shown = []
        for arguments in block.commands:
            said = self._line(*arguments)
            assert said.code == 0, f"{shlex.join(arguments)}: {said.code}\n{said.out}{said.err}"
            shown.append(said.out)
        return "".join(shown)

    def _ask(self, query: str) -> str:
        """The server's own time is the simulated one meanwhile, since queries ask for today."""
        stamp = self._stack.now().replace(tzinfo=UTC).timestamp()

        def asking(connection: Connection) -> str:
            connection.execute(text(f"SET SESSION timestamp = {stamp:.6f}"))
            try:
                found = connection.exec_driver_sql(query.strip().removesuffix(";"))
                return "\n".join("\t".join(map(str, row)) for row in found)
            finally:
                connection.execute(text("SET SESSION timestamp = DEFAULT"))

        return self._stack.run(asking)
