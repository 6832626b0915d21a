"""Whole days in a database that is empty before and after each test."""

from collection_pipeline_tests.kit.stack_fixtures import OpenStack, open_stack

__all__ = ["OpenStack", "open_stack"]
