"""The Compose files as Compose reads them: parsed, merged, each service with what it mounts."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

Body = dict[str, Any]
FILES = ("compose.yaml", "first-host.yaml", "worker-host.yaml", "docker-runs.yaml")
WHOLE = ("compose.yaml", "worker-host.yaml")
"""Files that stand alone; the others are laid over the first."""
SECRETS_FOLDER = "/run/secrets"


@dataclass(frozen=True)
class Compose:
    """``bodies`` by file name."""

    folder: Path
    bodies: dict[str, Body]

    @classmethod
    def read(cls, deploy: Path) -> "Compose":
        """Raises ``yaml.YAMLError``."""
        folder = deploy / "compose"
        texts = {name: (folder / name).read_text("utf-8") for name in FILES}
        return cls(folder, {name: document(text) for name, text in texts.items()})

    def services(self) -> Iterator[tuple[str, str, Body]]:
        """File, name and body of each service of the files that stand alone."""
        for file in WHOLE:
            for name, service in self.bodies[file]["services"].items():
                yield file, name, service

    def programs(self) -> Iterator[tuple[str, str, Body]]:
        """The project's own: everything but the database."""
        for file, name, service in self.services():
            if name != "mysql":
                yield file, name, service

    def command(self, service: Body) -> list[str]:
        """The whole command line: the image's entry point where the service names none."""
        return [*service.get("entrypoint", ["collection-pipeline"]), *service["command"]]

    def mounted(self, file: str, service: Body) -> dict[str, Path]:
        """The local file at each path where a configuration is mounted."""
        configs = self.bodies[file]["configs"]
        return {
            one["target"]: self.folder / configs[one["source"]]["file"]
            for one in service.get("configs", [])
        }

    def ports(self) -> Iterator[tuple[str, str]]:
        """File and text of each published port, of all files."""
        for file, body in self.bodies.items():
            for service in body.get("services", {}).values():
                for port in service.get("ports", []):
                    yield file, str(port)


@cache
def document(text: str) -> Body:
    """One file; nobody changes what was read."""
    body: Body = yaml.safe_load(text)
    return body


def seconds(duration: str) -> float:
    """Compose's durations, of which the files use seconds only."""
    if not duration.endswith("s"):
        raise ValueError(f"write {duration} in seconds")
    return float(duration[:-1])
