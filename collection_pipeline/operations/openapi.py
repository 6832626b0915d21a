"""The OpenAPI document: what the framework derives, with the problems and the token added."""

from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from collection_pipeline.operations.problems import MEDIA_TYPE, Problem

REF = "#/components/schemas/{model}"
DESCRIPTION = (
    "Where the collection of job postings stands. Everything here is read-only: GET and HEAD. "
    "Errors are problem details (RFC 9457)."
)
SECURITY_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "basic": {
        "type": "http",
        "scheme": "basic",
        "description": "Any user, the token as password.",
    },
}


def problem_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For a route's ``responses``: these statuses are answered with a problem."""
    schema = {"$ref": REF.format(model=Problem.__name__)}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in statuses
    }


def describe(app: FastAPI, *, has_token: bool) -> None:
    """Let the application's document say what this service adds to every route."""

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app, has_token=has_token)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the framework's way to change it


def _document(app: FastAPI, *, has_token: bool) -> dict[str, Any]:
    found = get_openapi(
        title="Collection pipeline operations",
        version=version("collection-pipeline"),
        description=DESCRIPTION,
        routes=app.routes,
    )
    components = found.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    own = Problem.model_json_schema(ref_template=REF)
    schemas.update(own.pop("$defs", {}))
    schemas[Problem.__name__] = own
    everywhere = (400, 401, 421) if has_token else (400, 421)
    for path, operations in found["paths"].items():
        for operation in operations.values():
            for status, answer in problem_answers(*everywhere).items():
                operation["responses"].setdefault(str(status), answer)
            if has_token:
                is_open = path == "/healthz"
                operation["security"] = [{"bearer": []}, {"basic": []}, *([{}] if is_open else [])]
    if has_token:
        components["securitySchemes"] = SECURITY_SCHEMES
    return found
