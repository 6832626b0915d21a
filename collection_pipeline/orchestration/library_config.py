"""The run configuration of ``library_ingest`` is ``IngestConfig`` itself, field by field (R46).

Schedule, launchpad, ``dagster job launch`` and the command line so ask for the same thing in the
same words, and a combination that one of them refuses is refused by all, before a run starts.
"""

from typing import Any, Literal, get_args, get_origin

import dagster as dg
from pydantic import ValidationError

from collection_pipeline.ingest.config import IngestConfig

OP_NAME = "ingest_libraries"


def _config_type(annotation: Any) -> Any:
    if get_origin(annotation) is Literal:
        return dg.Enum("IngestSource", [dg.EnumValue(name) for name in get_args(annotation)])
    return dg.Noneable(str) if annotation == str | None else annotation


INGEST_CONFIG = {
    name: dg.Field(
        _config_type(field.annotation),
        default_value=field.default,
        is_required=False,
        description=field.description,
    )
    for name, field in IngestConfig.model_fields.items()
}


@dg.config_mapping(config_schema=INGEST_CONFIG)
def library_config(values: dict[str, object]) -> dict[str, object]:
    """``{source: library, deactivate_stale: true}`` as the whole run configuration."""
    try:
        IngestConfig.model_validate(values)
    except ValidationError as error:
        words = "; ".join(one["msg"].removeprefix("Value error, ") for one in error.errors())
        raise ValueError(words) from None
    return {"ops": {OP_NAME: {"config": values}}}
