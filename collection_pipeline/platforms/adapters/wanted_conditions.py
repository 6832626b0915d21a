"""Wanted's two list forms and the condition keys that each of them obeys (R2, R23b).

``chaos`` is the list that the site uses now; ``v4`` still answers and is the only list that tells
deadlines. A filter of the other form is ignored by the platform, so it is refused here. A form
without its filter is allowed: both lists then bring every posting (platforms.md sections 1A, 1B).
"""

from dataclasses import dataclass

from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.adapters.conditions import MOST_VALUES, KeyRule, check_condition
from collection_pipeline.platforms.contract import InvalidCondition


@dataclass(frozen=True)
class WantedForm:
    """One list with its detail and its filters; ``detail_path`` takes the quoted ``id``."""

    name: str
    list_path: str
    detail_path: str
    filters: tuple[str, ...]


V4 = WantedForm("v4", "/api/v4/jobs", "/api/v4/jobs/{id}", ("tag_type_ids",))
CHAOS = WantedForm(
    "chaos",
    "/api/chaos/navigation/v1/results",
    "/api/chaos/jobs/v4/{id}/details",
    ("job_group_id", "job_ids"),
)
FORMS = {form.name: form for form in (V4, CHAOS)}

_SHARED = {
    "form": KeyRule(r"v4|chaos", "form=chaos or form=v4"),
    "years": KeyRule(r"-1|[0-9]{1,2}", "years=-1, or years=0 years=3 for a range", 2),
    "locations": KeyRule(r"all|[a-z0-9][a-z0-9._-]*", "locations=seoul.all", MOST_VALUES),
}
_RULES = {
    "v4": {**_SHARED, "tag_type_ids": KeyRule(r"[0-9]{1,9}", "tag_type_ids=518", MOST_VALUES)},
    "chaos": {
        **_SHARED,
        "job_group_id": KeyRule(r"-1|[0-9]{1,9}", "job_group_id=518"),
        "job_ids": KeyRule(r"[0-9]{1,9}", "job_ids=872 job_ids=669", MOST_VALUES),
    },
}
_IGNORED = "is ignored or unproven in this list; write {instead} instead and filter titles later"
_HINTS = {
    "v4": {
        "query": "query " + _IGNORED.format(instead="tag_type_ids=518"),
        "keyword": "keyword " + _IGNORED.format(instead="tag_type_ids=518"),
        "tag_type_id": "tag_type_id is the old name; write tag_type_ids=518",
        "job_group_id": "job_group_id belongs to form=chaos; with form=v4 write tag_type_ids=518",
        "job_ids": "job_ids belongs to form=chaos; with form=v4 write tag_type_ids=872",
    },
    "chaos": {
        "query": "query " + _IGNORED.format(instead="job_group_id=518"),
        "keyword": "keyword " + _IGNORED.format(instead="job_group_id=518"),
        "tag_type_ids": "tag_type_ids belongs to form=v4; add form=v4 or write job_group_id=518",
        "tag_type_id": "tag_type_id is unknown here; write job_group_id=518",
    },
}


def form_of(condition: Condition) -> WantedForm:
    """The form that the condition names; without one, the form that its filter belongs to."""
    is_v4 = "tag_type_ids" in condition and not condition.keys() & set(CHAOS.filters)
    values: object = condition.get("form", ["v4" if is_v4 else "chaos"])
    form = FORMS.get(values[0]) if isinstance(values, list) and len(values) == 1 else None
    if form is None:
        raise InvalidCondition("wanted: form is not understood; write form=chaos or form=v4")
    return form


def check_wanted(condition: Condition) -> None:
    """Raise ``InvalidCondition`` for what the form would ignore or answer with an error."""
    form = form_of(condition)
    check_condition(Platform.WANTED, condition, _RULES[form.name], _HINTS[form.name])
    years = [int(value) for value in condition.get("years", [])]
    if len(years) == 2 and (min(years) < 0 or years[0] > years[1]):
        raise InvalidCondition("wanted: years is no range; write the lower first: years=0 years=3")
    places = condition.get("locations", [])
    if "all" in places and len(places) > 1:
        raise InvalidCondition("wanted: locations=all stands alone; write only the places wanted")
