"""Alembic's entry: runs the revisions on the connection that ``store.migration`` hands over."""

from alembic import context

from collection_pipeline.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table="collection_schema_version",
    compare_server_default=False,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
