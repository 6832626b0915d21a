"""Notifications as a run sends them: what is to be told, then what is due (R40).

A webhook that fails is a number here, not an error: a later run tries again, and nothing that the
run has stored is undone.
"""

import dagster as dg

from collection_pipeline.collection.assembly import CollectionPipeline


def send_notifications(context: dg.OpExecutionContext, pipeline: CollectionPipeline) -> None:
    """Prepare from final headers and health, then deliver in order; logged as one line."""
    prepared = pipeline.notifications.prepare()
    delivery = pipeline.notifications.deliver()
    context.log.info(
        "notifications: %s prepared, %s sent, %s logged, %s failed",
        prepared,
        delivery.sent,
        delivery.logged,
        delivery.failed,
    )
