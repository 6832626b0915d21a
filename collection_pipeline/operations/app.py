"""The read-only ASGI application: API, health, metrics and page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

from collection_pipeline.operations.access import LOOPBACK_NAMES, Access
from collection_pipeline.operations.api import api_router
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.health import HealthChecks, health_router
from collection_pipeline.operations.http_rules import HttpRules
from collection_pipeline.operations.metrics import MetricsScrape, metrics_router
from collection_pipeline.operations.openapi import describe
from collection_pipeline.operations.page.routes import page_router, unknown_address
from collection_pipeline.operations.problems import add_problem_handlers

STATIC_FOLDER = Path(__file__).parent / "page" / "static"


def create_app(
    context: OperationsContext,
    *,
    token: str | None,
    allowed_hosts: frozenset[str] | None = LOOPBACK_NAMES,
) -> FastAPI:
    """The application over ``context``, which stays the caller's to close.

    ``token``: what every request must carry, or ``None``. ``allowed_hosts``: the names under which
    the service may be asked (any port), or ``None`` where it listens beyond loopback.
    """
    health, metrics = HealthChecks(context), MetricsScrape(context)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        health.close()
        metrics.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, redirect_slashes=False)
    add_problem_handlers(app, unknown_address)
    app.include_router(api_router(context))
    app.include_router(health_router(health, token))
    app.include_router(metrics_router(metrics))
    app.include_router(page_router(context), include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC_FOLDER), name="static")
    describe(app, has_token=token is not None)
    app.add_middleware(Access, token=token, allowed_hosts=allowed_hosts)
    app.add_middleware(HttpRules)
    return app
