"""From an executed request to the platform's reply, or to the failure that it met."""

from collection_pipeline.platforms.contract import PlatformReply
from collection_pipeline.platforms.wire.executor import ExecutedRequest


def answered(executed: ExecutedRequest) -> PlatformReply:
    """The reply; raises the ``RequestFailed`` that the request ended with."""
    if executed.failure is not None:
        raise executed.failure
    if executed.reply is None:
        raise ValueError("an executed request has a reply or a failure")
    return executed.reply
