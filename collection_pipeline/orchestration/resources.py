"""Resources: queue, clients, notifier, register; secrets by name of their variable (R29)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import dagster as dg
from pydantic import Field

from collection_pipeline.collection.assembly import CollectionPipeline, assemble
from collection_pipeline.orchestration.library_resource import LibraryRegister
from collection_pipeline.orchestration.queue_address import named_queue, queue_address
from collection_pipeline.settings import PREFIX, Settings, load_settings
from collection_pipeline.store.migration import require_current_schema


class PlatformClients(dg.ConfigurableResource["PlatformClients"]):
    """The clients of the platforms. Keys travel as environment variables, never as values."""

    saramin_access_key: str = Field("", description="COLLECTION_SARAMIN_ACCESS_KEY.")

    def settings(self) -> Settings:
        """The settings of this process, with the keys that the resource was given."""
        settings = load_settings(os.environ)
        if not self.saramin_access_key:
            return settings
        secrets = {**settings.secrets, "SARAMIN_ACCESS_KEY": self.saramin_access_key}
        return replace(settings, secrets=secrets)


class Notifier(dg.ConfigurableResource["Notifier"]):
    """Where notifications go. The webhook's address is a secret; without one they are logged."""

    webhook_url: str = Field(
        "", description="COLLECTION_WEBHOOK_URL: where messages are posted; empty: they are logged."
    )

    def applied_to(self, settings: Settings) -> Settings:
        """``settings`` with the address that the resource was given."""
        if not self.webhook_url:
            return settings
        return replace(settings, secrets={**settings.secrets, "WEBHOOK_URL": self.webhook_url})


class CollectionQueue(dg.ConfigurableResource["CollectionQueue"]):
    """The durable work queue: cycles, leases, cursors and budgets, all in MySQL."""

    database_url: str = Field(
        "",
        description="COLLECTION_DATABASE_URL, or the file that COLLECTION_DATABASE_URL_FILE names.",
    )

    @contextmanager
    def pipeline(
        self,
        clients: PlatformClients,
        notifier: Notifier | None = None,
        *,
        migrated: bool = True,
    ) -> Iterator[CollectionPipeline]:
        """The services over the queue; connections are given back at the end.

        Whoever delivers notifications hands the ``notifier`` in. Whoever works needs a schema that
        is ``migrated``; else ``SchemaBehind`` is raised. No error leaves it with a secret.
        """
        settings = clients.settings()
        if notifier is not None:
            settings = notifier.applied_to(settings)
        pipeline = assemble(settings, queue_address(self.database_url, settings))
        try:
            if migrated:
                with pipeline.engine.connect() as connection:
                    require_current_schema(connection)
            yield pipeline
        finally:
            pipeline.close()


def secret(name: str) -> str:
    """A secret by reference where it is set; Dagster shows the variable's name only."""
    variable = PREFIX + name
    return dg.EnvVar(variable) if variable in os.environ else ""


RESOURCES = {
    "queue": CollectionQueue(database_url=named_queue()),
    "platform_clients": PlatformClients(saramin_access_key=secret("SARAMIN_ACCESS_KEY")),
    "notifier": Notifier(webhook_url=secret("WEBHOOK_URL")),
    "library": LibraryRegister(
        database_url=named_queue(),
        service_key=secret("LIBRARY_SERVICE_KEY"),
    ),
}
