"""What a status that the adapter does not read means (spec section 4), and which ones throttle."""

from collection_pipeline.domain.failure import CollectionFailureReason as Reason

THROTTLED_STATUSES = frozenset({403, 429, 503})
"""A host that answers these wants to be left alone for a while (R22, R26)."""
RATE_LIMITED_STATUS = 429
_NAMED = {403: Reason.FORBIDDEN, 429: Reason.RATE_LIMITED}
_BY_HUNDRED = {3: Reason.HTTP_3XX, 4: Reason.HTTP_4XX, 5: Reason.HTTP_5XX}


def status_reason(status: int) -> Reason:
    """The reason for a status that was not accepted; one that means success is BAD_RESPONSE."""
    return _NAMED.get(status) or _BY_HUNDRED.get(status // 100, Reason.BAD_RESPONSE)
