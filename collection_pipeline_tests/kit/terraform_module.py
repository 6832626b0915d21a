"""A folder of Terraform files, read as one module.

Invariant: values come out as Terraform would see them before it knows any variable: text without
its quotes, expressions as ``${...}``, and references to locals replaced by what the local says.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hcl2
from hcl2.utils import SerializationOptions

PLAIN = SerializationOptions(with_comments=False, explicit_blocks=False, strip_string_quotes=True)
LOCAL = re.compile(r"\$\{local\.(\w+)((?:\.\w+)*)\}")
Body = dict[str, Any]


@dataclass(frozen=True)
class TerraformModule:
    """``texts`` by file name; blocks by their labels."""

    texts: dict[str, str]
    files: dict[str, Body]

    @classmethod
    def read(cls, folder: Path) -> "TerraformModule":
        """Reads every ``*.tf``; raises what the parser raises for one that is no Terraform."""
        texts = {path.name: path.read_text("utf-8") for path in sorted(folder.glob("*.tf"))}
        return cls(
            texts,
            {name: hcl2.loads(text, serialization_options=PLAIN) for name, text in texts.items()},
        )

    def blocks(self, kind: str) -> Iterator[Body]:
        """The bodies of every top-level block of one kind, labels still around them."""
        for body in self.files.values():
            yield from body.get(kind, [])

    @property
    def variables(self) -> dict[str, Body]:
        """By name."""
        return {name: body for block in self.blocks("variable") for name, body in block.items()}

    @property
    def outputs(self) -> dict[str, Body]:
        """By name."""
        return {name: body for block in self.blocks("output") for name, body in block.items()}

    @property
    def locals(self) -> Body:
        """All ``locals`` blocks together."""
        return {name: value for block in self.blocks("locals") for name, value in block.items()}

    def labelled(self, kind: str, type_name: str) -> dict[str, Body]:
        """Resources or data sources of one type, by name."""
        return {
            name: body
            for block in self.blocks(kind)
            for name, body in block.get(type_name, {}).items()
        }

    def resource_types(self) -> set[str]:
        """Every type of resource that the module makes."""
        return {type_name for block in self.blocks("resource") for type_name in block}

    def only(self, type_name: str) -> Body:
        """The one resource of its type."""
        found = self.labelled("resource", type_name)
        if len(found) != 1:
            raise ValueError(f"{len(found)} resources of type {type_name}")
        return next(iter(found.values()))

    def encoded(self, expression: str) -> Any:
        """What ``jsonencode(local.x)`` or ``jsonencode([local.x])`` encodes, locals replaced."""
        match = re.fullmatch(r"\$\{jsonencode\((\[?)local\.(\w+)\]?\)\}", expression)
        if match is None:
            raise ValueError(f"not jsonencode of a local: {expression}")
        value = self.resolved(self.locals[match[2]])
        return [value] if match[1] else value

    def resolved(self, value: Any) -> Any:
        """The value with whole references to locals replaced, at any depth."""
        if isinstance(value, dict):
            return {key: self.resolved(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self.resolved(one) for one in value]
        match = LOCAL.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return value
        found = self.locals[match[1]]
        for key in match[2].split(".")[1:]:
            found = found[key]
        # A computed local stays a reference: its expression says less than its name.
        return value if isinstance(found, str) and found.startswith("${(") else self.resolved(found)
