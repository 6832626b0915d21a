"""``GET /api/operations/collection-runs``: the history, today's counts and the snapshot (R41, R42).

Everything in one answer comes from one read-only transaction, so that it belongs together.
"""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response
from sqlalchemy import Connection

from collection_pipeline.domain.kst import run_date_of
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.models import (
    CollectionRunItem,
    CollectionRuns,
    CurrentCycles,
    SlaSnapshot,
)
from collection_pipeline.operations.openapi import problem_answers
from collection_pipeline.operations.query import (
    CollectionRunsQuery,
    after_text,
    no_repeated_parameter,
)
from collection_pipeline.store.views.collection_runs import collection_runs, cycle_counts
from collection_pipeline.store.views.snapshot_view import snapshot_view


def api_router(context: OperationsContext) -> APIRouter:
    """The API over ``context``."""
    router = APIRouter(prefix="/api/operations", tags=["operations"])

    @router.get(
        "/collection-runs",
        summary="The collection history by job source and run date",
        description="Newest run date first, then jobSourceId ascending: cycles, and the history "
        "that is older than cycles. The filters do not touch `currentCycles` and `slaSnapshot`.",
        response_model=CollectionRuns,
        responses=problem_answers(422, 500, 503),
        dependencies=[Depends(no_repeated_parameter)],
        operation_id="listCollectionRuns",
    )
    def list_collection_runs(query: Annotated[CollectionRunsQuery, Query()]) -> Response:
        question = query.question()

        def reading(connection: Connection) -> CollectionRuns:
            now = context.clock.now(connection)
            today = run_date_of(now)
            page = collection_runs(connection, question, today)
            snapshot = snapshot_view(
                connection, query.snapshot_date or today, now, context.settings.sla_cutoff
            )
            return CollectionRuns(
                items=[CollectionRunItem.of(run) for run in page.rows],
                next_after=None if page.next_after is None else after_text(page.next_after),
                current_cycles=CurrentCycles.of(cycle_counts(connection, today)),
                sla_snapshot=SlaSnapshot.of(snapshot),
            )

        answer = context.database.read(reading)
        body = answer.model_dump_json(by_alias=True, exclude_unset=True)
        return Response(body, media_type="application/json")

    return router
