"""The one configuration of a library ingest, for every way to start it (R46)."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

IngestSourceName = Literal["library", "csv"]


class IngestConfig(BaseModel):
    """What a run is asked to do. The schedule asks with ``deactivate_stale``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: IngestSourceName = Field(
        default="library",
        description="library: the open data API; csv: the portal's file, by hand only",
    )
    deactivate_stale: bool = Field(
        default=False,
        description="Switch off active rows that a complete snapshot does not contain",
    )
    allow_shrink: bool = Field(
        default=False,
        description="Accept a snapshot of fewer rows than the least share; never an empty one",
    )
    file: str | None = Field(default=None, description="The CSV file; only with source csv")

    @model_validator(mode="after")
    def _file_belongs_to_csv(self) -> Self:
        if self.source == "csv" and not self.file:
            raise ValueError("source csv needs a file")
        if self.source != "csv" and self.file is not None:
            raise ValueError("a file is for source csv only")
        return self
