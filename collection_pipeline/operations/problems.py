"""Errors as problem details (RFC 9457): what is wrong, and per parameter what to write instead.

A problem never repeats a credential, a statement or a stored value; a wrong parameter's value is
not repeated either, since it came from somebody else.
"""

import logging
from collections.abc import Callable, Sequence
from http import HTTPStatus
from traceback import walk_tb
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.operations.negotiation import gets_page

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 10
logger = logging.getLogger(__name__)


class WrongParameter(BaseModel):
    """One query parameter that cannot be used."""

    parameter: str = Field(description="Its name.")
    detail: str = Field(description="What to write instead.")


class Problem(BaseModel):
    """RFC 9457 problem details."""

    model_config = ConfigDict(title="Problem")

    type: str = Field(default="about:blank", description="Always about:blank: `status` tells.")
    title: str = Field(description="The status in words.")
    status: int = Field(description="The HTTP status code.", ge=400, le=599)
    detail: str = Field(description="What is wrong, and what to do.")
    instance: str = Field(description="The path that was asked for.")
    errors: list[WrongParameter] = Field(
        default=[], description="Each parameter that is wrong; empty for other problems."
    )


class BadParameters(Exception):
    """Query parameters that cannot be used, each with what to write."""

    def __init__(self, errors: Sequence[WrongParameter]) -> None:
        super().__init__("the query cannot be used")
        self.errors = list(errors)


def problem(
    status: HTTPStatus,
    detail: str,
    path: str,
    *,
    errors: Sequence[WrongParameter] = (),
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """The answer that says ``detail``; ``path`` is the path of the request, without its query."""
    body = Problem(
        title=status.phrase, status=status, detail=detail, instance=path, errors=list(errors)
    )
    return JSONResponse(body.model_dump(), status, headers, media_type=MEDIA_TYPE)


def unavailable(detail: str, path: str) -> JSONResponse:
    """503, with the time after which another try makes sense."""
    headers = {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, path, headers=headers)


def unexpected(error: Exception, path: str) -> JSONResponse:
    """500; the log names the error's kind and place, never its text, which may hold values."""
    frames = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if "site-packages" not in frame.f_code.co_filename
    ]
    place = frames[-1] if frames else "an unknown place"
    logger.error("%s met %s at %s", path, type(error).__name__, place)
    return problem(
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "This is a defect of the service; its log says more.",
        path,
    )


def add_problem_handlers(app: FastAPI, unknown_address: Callable[[Request], Response]) -> None:
    """Make every error of the framework's and of ours a problem.

    ``unknown_address`` is the page for a reader who accepts HTML where nothing is.
    """

    async def http_error(request: Request, error: Any) -> Response:
        status, path = HTTPStatus(error.status_code), request.url.path
        if status is not HTTPStatus.NOT_FOUND:
            return problem(status, str(error.detail), path)
        if gets_page(path, request.headers.get("accept", "")):
            return unknown_address(request)
        return problem(status, "There is nothing at this address.", path)

    async def validation_error(request: Request, error: Any) -> JSONResponse:
        return bad_parameters(parameters_of(error), request.url.path)

    async def parameter_error(request: Request, error: Any) -> JSONResponse:
        return bad_parameters(error.errors, request.url.path)

    async def database_error(request: Request, error: Any) -> JSONResponse:
        return unavailable(f"{str(error)[:1].upper()}{str(error)[1:]}.", request.url.path)

    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(RequestValidationError, validation_error)
    app.add_exception_handler(BadParameters, parameter_error)
    app.add_exception_handler(DatabaseUnavailable, database_error)


def bad_parameters(errors: Sequence[WrongParameter], path: str) -> JSONResponse:
    """422 with what to write."""
    return problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "The query cannot be used; `errors` says what to write.",
        path,
        errors=errors,
    )


def parameters_of(error: RequestValidationError) -> list[WrongParameter]:
    """The wrong parameters of a validation error, each named once."""
    found: dict[str, str] = {}
    for one in error.errors():
        name = str(one["loc"][-1])
        if one["type"] == "extra_forbidden":
            said = "there is no such parameter; leave it out"
        else:
            said = str(one["msg"]).removeprefix("Value error, ")
        found.setdefault(name, said)
    return [WrongParameter(parameter=name, detail=said) for name, said in found.items()]
