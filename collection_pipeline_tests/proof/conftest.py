"""Promises are tried on stacks as the scenarios have, and in Dagster's own database."""

from collection_pipeline_tests.kit.stack_fixtures import open_stack
from collection_pipeline_tests.presentation.conftest import dagster_url

__all__ = ["dagster_url", "open_stack"]
