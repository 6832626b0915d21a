"""Which rows a list page carries, with and without the faults that disturb paging.

`shifting` and `vanish` go by the page index: page p is read after p times `rows` postings have
come in at the head, or have left it. So a reader that goes from page to page meets rows again, or
misses them, however long it takes.
"""

from copy import deepcopy
from datetime import date
from functools import partial

from collection_pipeline.simulator.catalogue import Catalogue, Row
from collection_pipeline.simulator.fault_plan import Fault
from collection_pipeline.simulator.questions import Page, Question, Site
from collection_pipeline.simulator.wanted import link


def take_page(
    site: Site,
    question: Question,
    catalogue: Catalogue | None,
    day: int,
    first: date,
    faults: list[Fault],
) -> Page:
    """The page that answers a list question; no catalogue is an empty list."""
    order = list(catalogue.state(day).order) if catalogue else []
    start = question.offset
    for fault in faults:
        order = _disturbed(order, question, catalogue, fault)
        if fault.name == "offset_ignored":
            start = 0
    serials = order[start : start + question.limit]
    rows: list[Row] = []
    ids: list[str] = []
    if catalogue:
        render = partial(site.row, question.form)
        rows = catalogue.rows(question.form, serials, day, first, render)
        ids = [catalogue.id_of(serial) for serial in serials]
        if question.form == "v4":
            rows = _with_closed(rows, serials, catalogue.rule.closed_rows)
    end = question.offset + question.limit
    full_last = bool(rows) and end == len(order)
    has_next = end < len(order) or (full_last and bool(catalogue and catalogue.rule.boundary_next))
    page = Page(question, rows, ids, len(order), has_next)
    for fault in faults:
        _spoil(site, page, fault)
    return page


def _disturbed(
    order: list[int], question: Question, catalogue: Catalogue | None, fault: Fault
) -> list[int]:
    moved = int(fault.settings.get("rows", 0)) * question.page_index
    if fault.name == "shifting" and catalogue:
        return catalogue.late_serials(moved) + order
    if fault.name == "vanish":
        return order[moved:]
    return [] if fault.name == "zero_results" else order


def _with_closed(rows: list[Row], serials: list[int], closed: int) -> list[Row]:
    return [
        row | {"status": "close"} if serial < closed else row
        for row, serial in zip(rows, serials, strict=True)
    ]


def _spoil(site: Site, page: Page, fault: Fault) -> None:
    settings = fault.settings
    if fault.name == "empty_page_with_next":
        page.rows, page.ids, page.has_next = [], [], True
    elif fault.name == "short_pages" and page.has_next and page.question.page_index % 3 == 1:
        kept = max(1, len(page.rows) - int(settings["rows"]))
        page.rows, page.ids = page.rows[:kept], page.ids[:kept]
    elif fault.name == "changing_total":
        step = int(settings["delta"]) * (page.question.page_index // 2 + 1)
        page.total = max(0, page.total + (-step if page.question.page_index % 2 else step))
    elif fault.name == "total_shrunk":
        total = settings["total"]
        page.total = int(page.total * settings["factor"]) if total is None else int(total)
    elif fault.name in ("missing_id", "missing_title"):
        _strip(site, page, fault)
    elif fault.name.startswith("next_") and site.platform == "wanted":
        page.next_link = _next_link(page, fault)


def _next_link(page: Page, fault: Fault) -> str | None:
    question = page.question
    ahead = link(question, question.offset + question.limit)
    if fault.name == "next_self":
        return link(question, question.offset)
    if fault.name == "next_back":
        to_page = fault.settings["to_page"]
        target = question.page_index - 1 if to_page is None else int(to_page)
        return link(question, max(0, target) * question.limit)
    if fault.name == "next_foreign":
        return str(fault.settings["origin"]) + ahead
    return f"http://{question.request.header('host')}{ahead}" if page.has_next else None


def _strip(site: Site, page: Page, fault: Fault) -> None:
    if not page.rows:
        return
    path = (site.id_name,) if fault.name == "missing_id" else site.title_path
    place = min(int(fault.settings["row"]), len(page.rows) - 1)
    rows = list(page.rows)
    rows[place] = deepcopy(rows[place])
    holder = rows[place]
    for name in path[:-1]:
        holder = holder[name]
    if fault.settings["form"] == "absent":
        holder.pop(path[-1], None)
    else:
        holder[path[-1]] = "" if fault.settings["form"] == "empty" else None
    page.rows = rows
    if fault.name == "missing_id":
        page.ids = page.ids[:place] + page.ids[place + 1 :]
