"""Fixtures of the proof under faults: stacks of the scenarios, Dagster's database."""

from collection_pipeline_tests.presentation.conftest import dagster_url
from collection_pipeline_tests.scenario.conftest import OpenStack, open_stack

__all__ = ["OpenStack", "dagster_url", "open_stack"]
