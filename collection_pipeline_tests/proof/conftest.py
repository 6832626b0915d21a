"""Fixtures of the proof under faults: stacks of the scenarios, Dagster of the presentation."""

from collection_pipeline_tests.presentation.conftest import dagster_url, open_instance
from collection_pipeline_tests.scenario.conftest import OpenStack, open_stack

__all__ = ["OpenStack", "dagster_url", "open_instance", "open_stack"]
