"""What the portal's error codes mean, and which of them are worth another try (section 5.3).

Invariant: a failure's sentence is made of this module's own words and the numbers of codes and
statuses. Texts of the portal are compared with the known ones and never repeated: a gateway may
echo the request, and with it the key (R29).
"""

import re
from dataclasses import dataclass

from collection_pipeline.domain.failure import CollectionFailureReason as Reason
from collection_pipeline.domain.library import LibraryFailure as Failure
from collection_pipeline.domain.library import LibraryReadFailed

OK_CODE = 0
NO_DATA_CODE = 3
ERRORS: dict[int, tuple[str, Failure]] = {
    1: ("APPLICATION_ERROR", Failure.RETRY_LATER),
    2: ("DB_ERROR", Failure.RETRY_LATER),
    4: ("HTTP_ERROR", Failure.RETRY_LATER),
    5: ("SERVICETIME_OUT", Failure.RETRY_LATER),
    10: ("INVALID_REQUEST_PARAMETER_ERROR", Failure.CONFIGURATION),
    11: ("NO_MANDATORY_REQUEST_PARAMETERS_ERROR", Failure.CONFIGURATION),
    12: ("NO_OPENAPI_SERVICE_ERROR", Failure.CONFIGURATION),
    20: ("SERVICE_ACCESS_DENIED_ERROR", Failure.KEY),
    21: ("TEMPORARILY_DISABLE_THE_SERVICEKEY_ERROR", Failure.KEY),
    22: ("LIMITED_NUMBER_OF_SERVICE_REQUESTS_EXCEEDS_ERROR", Failure.QUOTA),
    30: ("SERVICE_KEY_IS_NOT_REGISTERED_ERROR", Failure.KEY),
    31: ("DEADLINE_HAS_EXPIRED_ERROR", Failure.KEY),
    32: ("UNREGISTERED_IP_ERROR", Failure.KEY),
    33: ("UNSIGNED_CALL_ERROR", Failure.KEY),
    99: ("UNKNOWN_ERROR", Failure.RETRY_LATER),
}
NO_DATA_NAME = "NODATA_ERROR"
_CODES_BY_NAME = {name: code for code, (name, _) in ERRORS.items()} | {NO_DATA_NAME: NO_DATA_CODE}
_CODE = re.compile(r"[0-9]{1,4}")
READ_STATUSES = frozenset(
    {200, 201, 202, 203, 204, 206, 400, 401, 403, 404, 429, 500, 502, 503, 504}
)
"""Their bodies may carry a code, which says more than the status."""
_STATUS_FAILURES = {
    401: Failure.KEY,
    403: Failure.KEY,
    408: Failure.RETRY_LATER,
    429: Failure.QUOTA,
}
_REASON_FAILURES = {
    Reason.TIMEOUT: Failure.RETRY_LATER,
    Reason.CONNECTION: Failure.RETRY_LATER,
    Reason.BAD_RESPONSE: Failure.BAD_ANSWER,
    Reason.POLICY: Failure.BAD_ANSWER,
}


@dataclass(frozen=True)
class PortalResult:
    """Code and texts of an answer's head as they were sent, wherever they stood."""

    code: str
    messages: tuple[str, ...]

    @property
    def number(self) -> int | None:
        """The known code that is meant, by number or else by name; ``None`` for neither.

        ``0``, ``00``, ``000`` and ``0000`` are one code; names come with underscores or spaces.
        """
        code = self.code.strip()
        number = int(code) if _CODE.fullmatch(code) else None
        if number in ERRORS or number in (OK_CODE, NO_DATA_CODE):
            return number
        for message in self.messages:
            name = re.sub(r"[\s_]+", "_", message.strip()).upper().rstrip(".!")
            if name in _CODES_BY_NAME:
                return _CODES_BY_NAME[name]
        return None


def bad_answer(sentence: str) -> LibraryReadFailed:
    """The answer cannot be understood; neither waiting nor another key helps."""
    return LibraryReadFailed(Failure.BAD_ANSWER, sentence)


def result_failure(result: PortalResult) -> LibraryReadFailed:
    """The failure of a result that is neither OK nor "no data"."""
    if result.number in ERRORS:
        name, kind = ERRORS[result.number]
        return LibraryReadFailed(kind, f"the portal answers code {result.number:02d} {name}")
    code = result.code.strip()
    shown = f"unknown code {code}" if _CODE.fullmatch(code) else "a result that is unknown"
    return bad_answer(f"the portal answers {shown}")


def status_failure(status: int) -> LibraryReadFailed:
    """The failure of an HTTP status whose body carries no code."""
    kind = _STATUS_FAILURES.get(status)
    if kind is None:
        # Another 2xx is a gateway's "not yet", as a page of HTML with 200 is.
        is_passing = status >= 500 or 200 <= status < 300
        kind = Failure.RETRY_LATER if is_passing else Failure.CONFIGURATION
    return LibraryReadFailed(kind, f"the portal answers HTTP status {status}")


def request_failure(
    reason: Reason, detail: str, *, status: int | None, sent: bool
) -> LibraryReadFailed:
    """The failure of a request that brought no readable answer; ``detail`` is redacted already."""
    if not sent:
        return LibraryReadFailed(Failure.CONFIGURATION, detail)
    if status is not None and not 200 <= status < 300:
        return LibraryReadFailed(status_failure(status).kind, detail)
    return LibraryReadFailed(_REASON_FAILURES.get(reason, Failure.BAD_ANSWER), detail)
