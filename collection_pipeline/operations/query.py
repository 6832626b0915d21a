"""The query of the collection history: each parameter's form, and what to write where it is wrong.

Unknown and repeated parameters are refused: a misspelt filter would answer another question.
"""

import re
from collections import Counter
from datetime import date
from typing import Annotated, Any

from fastapi import Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from collection_pipeline.domain.cycle_status import CycleStatus
from collection_pipeline.operations.problems import BadParameters, WrongParameter
from collection_pipeline.store.views.collection_run import RunKey
from collection_pipeline.store.views.collection_runs import MOST_ROWS
from collection_pipeline.store.views.run_order import RunsQuestion

DEFAULT_ROWS = 100
LARGEST_ID = 2**63 - 1
_DATE = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_AFTER = "[0-9a-f]{22}"


def _day(text: Any) -> date:
    try:
        if re.fullmatch(_DATE, str(text), re.ASCII):
            return date.fromisoformat(str(text))
    except ValueError:
        pass
    raise ValueError("write a calendar day as YYYY-MM-DD, such as 2026-12-02")


def _source_id(text: Any) -> int:
    if re.fullmatch("[0-9]{1,19}", str(text), re.ASCII) and 1 <= int(text) <= LARGEST_ID:
        return int(text)
    raise ValueError("write the id of a job source, a whole number from 1")


def _limit(text: Any) -> int:
    if re.fullmatch("[0-9]{1,3}", str(text), re.ASCII) and 1 <= int(text) <= MOST_ROWS:
        return int(text)
    raise ValueError(f"write a whole number from 1 to {MOST_ROWS}")


def _status(text: Any) -> CycleStatus:
    try:
        return CycleStatus(text)
    except ValueError:
        raise ValueError(f"write one of {', '.join(CycleStatus)}") from None


def _after(text: Any) -> RunKey:
    try:
        if re.fullmatch(_AFTER, str(text), re.ASCII):
            ordinal, source = int(str(text)[:6], 16), int(str(text)[6:], 16)
            if ordinal >= date(1000, 1, 1).toordinal() and source <= LARGEST_ID:
                return RunKey(date.fromordinal(ordinal), source)
    except ValueError:
        pass
    raise ValueError("write the nextAfter of an answer, as it is, or leave it out")


def after_text(key: RunKey) -> str:
    """The opaque token that ``after`` takes back."""
    return f"{key.run_date.toordinal():06x}{key.job_source_id:016x}"


class CollectionRunsQuery(BaseModel):
    """The parameters as the OpenAPI document shows them."""

    model_config = ConfigDict(extra="forbid")

    first: Annotated[
        date | None,
        BeforeValidator(_day),
        WithJsonSchema({"type": "string", "format": "date", "pattern": f"^{_DATE}$"}),
    ] = Field(default=None, alias="from", description="The earliest run date.")
    last: Annotated[
        date | None,
        BeforeValidator(_day),
        WithJsonSchema({"type": "string", "format": "date", "pattern": f"^{_DATE}$"}),
    ] = Field(default=None, alias="to", description="The latest run date.")
    job_source_id: Annotated[
        int | None,
        BeforeValidator(_source_id),
        WithJsonSchema({"type": "integer", "minimum": 1, "maximum": LARGEST_ID}),
    ] = Field(default=None, alias="jobSourceId", description="Only this job source.")
    status: Annotated[
        CycleStatus | None,
        BeforeValidator(_status),
        WithJsonSchema({"type": "string", "enum": [status.value for status in CycleStatus]}),
    ] = Field(
        default=None,
        description="Only cycles with this status; SUCCESS and FAILED also find history older than "
        "cycles, by its runStatus.",
    )
    limit: Annotated[
        int,
        BeforeValidator(_limit),
        WithJsonSchema(
            {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": DEFAULT_ROWS}
        ),
    ] = Field(default=DEFAULT_ROWS, description="The most items of a page.")
    after: Annotated[
        RunKey | None,
        BeforeValidator(_after),
        WithJsonSchema({"type": "string", "pattern": f"^{_AFTER}$"}),
    ] = Field(default=None, description="The nextAfter of the page before.")
    snapshot_date: Annotated[
        date | None,
        BeforeValidator(_day),
        WithJsonSchema({"type": "string", "format": "date", "pattern": f"^{_DATE}$"}),
    ] = Field(
        default=None, alias="snapshotDate", description="The day of slaSnapshot; today by default."
    )

    def question(self) -> RunsQuestion:
        """What the store is asked; raises ``BadParameters`` where the days are reversed."""
        if self.first and self.last and self.first > self.last:
            raise BadParameters(
                [WrongParameter(parameter="from", detail="write a day that is not after `to`")]
            )
        return RunsQuestion(
            self.first, self.last, self.job_source_id, self.status, self.after, self.limit
        )


def no_repeated_parameter(request: Request) -> None:
    """Dependency: raises ``BadParameters`` for one that is given more than once."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    repeated = [name for name, count in given.items() if count > 1]
    if repeated:
        raise BadParameters(
            [WrongParameter(parameter=name, detail="write it once") for name in repeated]
        )
