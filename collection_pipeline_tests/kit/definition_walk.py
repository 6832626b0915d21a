"""Every Dagster definition with what the UI shows of it, whatever kind it is.

Found from the definitions themselves, so that what is added later is walked too.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.definitions.asset_sensor_definition import AssetSensorDefinition
from dagster._core.definitions.run_status_sensor_definition import RunStatusSensorDefinition

LINK = re.compile(r"docs/(?P<page>[a-z-]+\.md)(?:#(?P<anchor>[\w-]*\w))?")
WITHOUT_OWNERS = (AssetSensorDefinition, RunStatusSensorDefinition)
"""Dagster takes no owners for these sensors."""


@dataclass(frozen=True)
class Shown:
    """One definition; ``None`` stands for what its kind cannot have."""

    place: str
    description: str | None
    owners: Sequence[str] | None = None
    tags: Mapping[str, str] | None = None
    kinds: frozenset[str] | None = None
    fields: Mapping[str, str | None] = field(default_factory=dict)


def walked(definitions: dg.Definitions) -> list[Shown]:
    """All of them; Dagster's own job for assets has nothing that could be run."""
    repository = definitions.get_repository_def()
    jobs = [job for job in repository.get_all_jobs() if not job.name.startswith("__")]
    return [
        *(_job(job) for job in jobs),
        *(_op(job, node.definition) for job in jobs for node in job.nodes),
        *(_schedule(one) for one in repository.schedule_defs),
        *(_sensor(one) for one in repository.sensor_defs),
        *(_resource(name, one) for name, one in repository.get_top_level_resources().items()),
        *(_asset(spec) for spec in definitions.resolve_all_asset_specs()),
        *_checks(definitions),
    ]


def links_of(description: str) -> list[tuple[str, str | None]]:
    """Page and anchor of each document that ``description`` names."""
    return [(found["page"], found["anchor"]) for found in LINK.finditer(description)]


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as the usual renderers make them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def _job(job: dg.JobDefinition) -> Shown:
    mapping = job.config_mapping
    schema = mapping.config_schema if mapping is not None else None
    return Shown(
        f"job {job.name}",
        job.description,
        owners=job.owners or (),
        tags=job.tags,
        fields=_fields(schema),
    )


def _op(job: dg.JobDefinition, op: Any) -> Shown:
    prefix = "dagster/kind/"
    kinds = frozenset(tag.removeprefix(prefix) for tag in op.tags if tag.startswith(prefix))
    place = f"op {op.name} of the job {job.name}"
    return Shown(place, op.description, kinds=kinds, fields=_fields(op.config_schema))


def _schedule(schedule: dg.ScheduleDefinition) -> Shown:
    return Shown(f"schedule {schedule.name}", schedule.description, owners=schedule.owners or ())


def _sensor(sensor: dg.SensorDefinition) -> Shown:
    owners = None if isinstance(sensor, WITHOUT_OWNERS) else sensor.owners or ()
    return Shown(f"sensor {sensor.name}", sensor.description, owners=owners, tags=sensor.tags)


def _resource(name: str, resource: dg.ResourceDefinition) -> Shown:
    if name == "io_manager":
        return Shown(f"resource {name}", "Dagster's own; no op hands anything on through it.")
    return Shown(f"resource {name}", resource.description, fields=_fields(resource.config_schema))


def _asset(spec: dg.AssetSpec) -> Shown:
    return Shown(
        f"asset {spec.key.to_user_string()}",
        spec.description,
        owners=spec.owners,
        tags={name: text for name, text in spec.tags.items() if not name.startswith("dagster/")},
        kinds=frozenset(spec.kinds),
    )


def _checks(definitions: dg.Definitions) -> Iterator[Shown]:
    for made in definitions.asset_checks or ():
        assert isinstance(made, dg.AssetChecksDefinition)
        yield Shown(f"checks {made.op.name}", made.op.description)
        for spec in made.check_specs:
            yield Shown(f"check {spec.name}", spec.description)


def _fields(schema: Any) -> dict[str, str | None]:
    config_type = schema.config_type if schema else None
    fields = getattr(config_type, "fields", None) or {}
    return {name: one.description for name, one in fields.items()}
