"""Rules of the image: two stages, only hashed packages, not root, and nothing secret sent to it."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collection_pipeline_tests.kit.deploy_rules import Fault, broken_rules

SENT = {"pyproject.toml", "setup.cfg", "requirements-deploy.lock", "requirements-dev.lock"}
BASE = "python:3.11.14-slim-bookworm"
SENT |= {"collection_pipeline"}


@dataclass(frozen=True)
class Image:
    """``stages`` of (instruction, arguments); ``ignored`` are the lines of the ignore file."""

    stages: list[list[tuple[str, str]]]
    ignored: list[str]

    def last(self, instruction: str) -> str:
        """The arguments that hold at the end of the final stage."""
        return [rest for word, rest in self.stages[-1] if word == instruction][-1]


def image_faults(deploy: Path) -> list[Fault]:
    """The rules that the Dockerfile and its ignore file break."""
    text = (deploy / "Dockerfile").read_text("utf-8")
    plain = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    stages: list[list[tuple[str, str]]] = []
    for line in filter(None, map(str.strip, plain.splitlines())):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages.append([])
        stages[-1].append((word, rest.strip()))
    ignored = (deploy / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    lines = [line for line in ignored if line and not line.startswith("#")]
    return broken_rules(RULES, Image(stages, lines))


def two_stages(image: Image) -> Iterator[str]:
    """The builder's tools stay behind."""
    bases = [stage[0][1].split()[0] for stage in image.stages]
    if bases != [BASE, BASE]:
        yield f"built on {bases}"
    if any(word == "RUN" and "pip" in rest for word, rest in image.stages[-1]):
        yield "the final stage installs packages"


def packages_are_hashed(image: Image) -> Iterator[str]:
    """Each pip call either checks hashes or asks no index."""
    runs = [rest for stage in image.stages for word, rest in stage if word == "RUN"]
    calls = [part for run in runs for part in run.split("&&") if re.search(r"pip (in|wh)", part)]
    for call in calls:
        if not re.search(r"--require-hashes -r \S+\.lock|--no-index", call):
            yield call.strip()
    if not any("--require-hashes -r requirements-deploy.lock" in call for call in calls):
        yield "the locked packages are not installed"


def runs_the_program(image: Image) -> Iterator[str]:
    """Arguments are commands of the program; without one it looks and changes nothing."""
    if json.loads(image.last("ENTRYPOINT")) != ["collection-pipeline"]:
        yield f"starts {image.last('ENTRYPOINT')}"
    if json.loads(image.last("CMD")) != ["check"]:
        yield f"without arguments: {image.last('CMD')}"


def is_not_root(image: Image) -> Iterator[str]:
    """By number, since Kubernetes cannot tell from a name that it is not root."""
    if not re.fullmatch(r"[1-9]\d*:[1-9]\d*", image.last("USER")):
        yield f"runs as {image.last('USER')}"
    if json.loads(image.last("VOLUME")) != ["/tmp"]:
        yield f"writes to {image.last('VOLUME')}"


def nothing_secret_is_sent(image: Image) -> Iterator[str]:
    """Everything is ignored but the sources, and no setting is built in."""
    if image.ignored[0] != "*":
        yield "everything is sent"
    sent = {line[1:] for line in image.ignored if line.startswith("!")}
    if sent != SENT:
        yield f"sends {sorted(sent ^ SENT)}"
    for word, rest in (line for stage in image.stages for line in stage):
        if word == "ARG" or "COLLECTION_" in rest:
            yield f"{word} {rest}"
        if word == "COPY" and rest.split()[-2] in {".", "./"}:
            yield "copies the whole folder"


RULES: dict[str, Callable[[Image], Iterator[str]]] = {
    "the image has two stages": two_stages,
    "the image's packages are hashed": packages_are_hashed,
    "the image runs the program": runs_the_program,
    "the image is not root": is_not_root,
    "nothing secret is sent to the image": nothing_secret_is_sent,
}
