"""The library ingest as a resource; its service key by name of its variable (R29, R47)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import dagster as dg
from pydantic import Field

from collection_pipeline.ingest.assembly import LibraryIngestion, assemble_ingest
from collection_pipeline.orchestration.queue_address import queue_address
from collection_pipeline.platforms.library.service_key import SECRET_NAME
from collection_pipeline.settings import Settings, load_settings
from collection_pipeline.store.migration import require_current_schema


class LibraryRegister(dg.ConfigurableResource["LibraryRegister"]):
    """The register of public libraries: its tables, and the portal that it is read from."""

    database_url: str = Field(
        "",
        description="COLLECTION_DATABASE_URL, or the file that COLLECTION_DATABASE_URL_FILE names.",
    )
    service_key: str = Field(
        "", description="COLLECTION_LIBRARY_SERVICE_KEY: the portal's key, as it was issued."
    )

    def settings(self) -> Settings:
        """The settings of this process, with the key that the resource was given."""
        settings = load_settings(os.environ)
        if not self.service_key:
            return settings
        return replace(settings, secrets={**settings.secrets, SECRET_NAME: self.service_key})

    @contextmanager
    def ingestion(self) -> Iterator[LibraryIngestion]:
        """The ingest over the register; connections are given back at the end."""
        settings = self.settings()
        ingestion = assemble_ingest(settings, queue_address(self.database_url, settings))
        try:
            with ingestion.engine.connect() as connection:
                require_current_schema(connection)
            yield ingestion
        finally:
            ingestion.close()
