"""One prepared request and its whole answer, within a deadline and a size (R25, R28).

The only place that talks: list and detail requests of a slice and the messages of a webhook pass
here. Nothing is retried, no redirect is followed, and what went wrong comes back as fixed words,
never as an exception of a library, whose text would show the address (R29).
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field

import requests

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.platforms.wire.http_session import SingleSendSession
from collection_pipeline.platforms.wire.in_flight import InFlight
from collection_pipeline.platforms.wire.network_failure import NETWORK_ERRORS, network_failure
from collection_pipeline.platforms.wire.reply_body import (
    BodyCutOff,
    BodyTooLarge,
    UnreadableEncoding,
    decode_body,
)

READ_BYTES = 65_536


@dataclass(frozen=True)
class ExchangeTerms:
    """How long connecting and the whole exchange may take, and how large the answer may be."""

    connect_seconds: float
    deadline_seconds: float
    max_bytes: int
    verify: bool | str = True


@dataclass(frozen=True)
class Answer:
    """What came back, header names in lower case and nothing redacted yet.

    ``body`` is ``None`` for a status that was not accepted: it was not read.
    """

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = field(repr=False)


@dataclass(frozen=True)
class NoAnswer:
    """Why no whole answer came; ``status`` and ``headers`` where the head of one did."""

    reason: Reason
    words: str
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def exchange(
    session: SingleSendSession,
    prepared: requests.PreparedRequest,
    terms: ExchangeTerms,
    accepts: Callable[[int], bool],
    before_write: Callable[[], None] | None = None,
) -> Answer | NoAnswer:
    """Send ``prepared`` once; raises only what ``before_write`` raises."""
    outcome: Answer | NoAnswer
    with InFlight(terms.deadline_seconds, before_write) as in_flight:
        try:
            outcome = _receive(session, prepared, terms, accepts, in_flight)
        except NETWORK_ERRORS as error:
            outcome = NoAnswer(*network_failure(error))
        if in_flight.is_expired:
            words = f"not answered within {terms.deadline_seconds:g} s"
            outcome = NoAnswer(Reason.TIMEOUT, words, headers=outcome.headers)
    return outcome


def _receive(
    session: SingleSendSession,
    prepared: requests.PreparedRequest,
    terms: ExchangeTerms,
    accepts: Callable[[int], bool],
    in_flight: InFlight,
) -> Answer | NoAnswer:
    left = in_flight.seconds_left()
    reply = session.send(
        prepared,
        stream=True,
        allow_redirects=False,
        timeout=(min(terms.connect_seconds, left), left),
        verify=terms.verify,
    )
    with closing(reply):
        status = reply.status_code
        headers = {name.lower(): value for name, value in reply.headers.items()}
        if not accepts(status):
            return Answer(status, headers, None)
        encoding = headers.get("content-encoding", "")
        chunks = reply.raw.stream(READ_BYTES, decode_content=False)
        try:
            body = decode_body(chunks, encoding, terms.max_bytes)
        except BodyTooLarge:
            words = f"the body exceeds {terms.max_bytes} bytes"
            return NoAnswer(Reason.POLICY, words, status, headers)
        except BodyCutOff:
            words = "the compressed body was cut off"
            return NoAnswer(Reason.CONNECTION, words, status, headers)
        except UnreadableEncoding as error:
            return NoAnswer(Reason.BAD_RESPONSE, str(error), status, headers)
    return Answer(status, headers, body)
