"""What a network exception means in the state table's words (spec section 4).

Only fixed phrases come out: the text of a library's exception holds the URL and so the key (R29).
"""

import http.client
import ssl
from collections.abc import Iterator

import requests
from urllib3 import exceptions as urllib3_errors

from collection_pipeline.domain.failure import CollectionFailureReason as Reason

NETWORK_ERRORS: tuple[type[Exception], ...] = (
    requests.RequestException,
    urllib3_errors.HTTPError,
    http.client.HTTPException,
    OSError,
    ValueError,
)
"""Everything the two libraries raise while they connect, send or read."""

_MEANINGS: tuple[tuple[type[BaseException], Reason, str], ...] = (
    (ssl.SSLError, Reason.CONNECTION, "TLS failed"),
    (ssl.CertificateError, Reason.CONNECTION, "TLS failed"),
    (urllib3_errors.SSLError, Reason.CONNECTION, "TLS failed"),
    (urllib3_errors.NameResolutionError, Reason.CONNECTION, "the host name was not found"),
    (ConnectionRefusedError, Reason.CONNECTION, "connection refused"),
    # The library counts a failed connection among its timeouts, so this comes first.
    (urllib3_errors.NewConnectionError, Reason.CONNECTION, "connecting failed"),
    (urllib3_errors.ConnectTimeoutError, Reason.TIMEOUT, "connecting took too long"),
    (TimeoutError, Reason.TIMEOUT, "waiting took too long"),
    (urllib3_errors.TimeoutError, Reason.TIMEOUT, "waiting took too long"),
    (ConnectionError, Reason.CONNECTION, "connection reset or closed"),
    (urllib3_errors.InvalidChunkLength, Reason.BAD_RESPONSE, "a chunk size is no number"),
    (urllib3_errors.InvalidHeader, Reason.BAD_RESPONSE, "a header is not HTTP"),
    (http.client.IncompleteRead, Reason.CONNECTION, "the body was cut off"),
    (http.client.HTTPException, Reason.BAD_RESPONSE, "the reply is not HTTP"),
    (requests.exceptions.InvalidHeader, Reason.BAD_RESPONSE, "a header is not HTTP"),
)


def network_failure(error: BaseException) -> tuple[Reason, str]:
    """Reason and words for ``error``, judged by everything in its chain, outermost cause last."""
    chain = list(_chain(error))
    for kind, reason, words in _MEANINGS:
        if any(isinstance(link, kind) for link in chain):
            return reason, words
    return Reason.CONNECTION, "the connection broke"


def _chain(error: BaseException) -> Iterator[BaseException]:
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        link = waiting.pop()
        if isinstance(link, BaseException) and id(link) not in seen:
            seen.add(id(link))
            yield link
            waiting += [link.__cause__, link.__context__, getattr(link, "reason", None), *link.args]
