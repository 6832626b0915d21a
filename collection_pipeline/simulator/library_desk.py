"""Answers the register's one path: key, quota, parameters, then a page or what a fault makes of it.

Like the real one it ignores parameters that it does not know, all column filters among them, and
serves XML unless `type=json` is asked for.
"""

from collections import Counter
from dataclasses import dataclass, replace
from html import escape
from threading import Lock
from typing import Any
from urllib.parse import quote

from collection_pipeline.simulator.answer_faults import replaced
from collection_pipeline.simulator.calendar_hand import Today
from collection_pipeline.simulator.fault_plan import Fault, Subject
from collection_pipeline.simulator.library_bodies import (
    BAD_PARAMETER,
    NO_ACCESS,
    NO_DATA,
    QUOTA_USED_UP,
    RESULT_NAMES,
    UNKNOWN_KEY,
    LibraryForm,
    carried,
    error_reply,
    page_reply,
)
from collection_pipeline.simulator.library_columns import Row, renamed, row_id
from collection_pipeline.simulator.library_register import LibraryRegister
from collection_pipeline.simulator.library_rule import LIBRARY, LibraryRule
from collection_pipeline.simulator.messages import XML_TYPE, Reply, Request
from collection_pipeline.simulator.platform_desk import finished, request_record
from collection_pipeline.simulator.questions import Question, whole_number
from collection_pipeline.simulator.simulation import Simulation

PATH = "/openapi/tn_pubr_public_lbrry_api"
DEFAULT_ROWS, MOST_ROWS = 10, 1_000


@dataclass(slots=True)
class _Page:
    rows: list[Row]
    total: int


class LibraryDesk:
    """Serves the register of one simulation and counts its calls."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._calls: Counter[str] = Counter()
        self._lock = Lock()

    def answers(self, request: Request) -> bool:
        """Whether the request is for the register."""
        return request.method == "GET" and request.path == PATH

    def answer(self, request: Request) -> Reply:
        """The reply to one request; its log line is on disk when this returns."""
        world = self._simulation.world
        today = world.calendar.today()
        question = self._question(request, world.library.rule, today)
        subject = Subject(LIBRARY, "list", "all", question.page_index, None, today.day)
        faults = self._simulation.faults.acting_on(subject)
        reply = self._composed(question, world.library, today, faults)
        log = self._simulation.log
        log.write(request_record(log, request, question, "all", today, reply, faults))
        return reply

    def _question(self, request: Request, rule: LibraryRule, today: Today) -> Question:
        """Decodes the query once, as a form: a bare ``+`` in a key has become a blank."""
        given = dict(request.pairs)
        page = whole_number(given.get("pageNo"), 1)
        rows = whole_number(given.get("numOfRows"), DEFAULT_ROWS)
        key_ok = given.get("serviceKey") == rule.service_key
        refusal = self._refusal(rule, today, given.get("serviceKey", ""), key_ok)
        if refusal is None and (page is None or rows is None or not 1 <= rows <= MOST_ROWS):
            refusal = error_reply("service", BAD_PARAMETER, envelope=rule.envelope)
        index, limit = max(0, (page or 1) - 1), min(max(1, rows or 1), MOST_ROWS)
        form = "json" if given.get("type", "xml").lower() == "json" else "xml"
        return Question(
            LIBRARY,
            "list",
            form,
            request,
            keys=("all",),
            offset=index * limit,
            limit=limit,
            page_index=index,
            refusal=refusal,
            key_ok=key_ok,
        )

    def _refusal(self, rule: LibraryRule, today: Today, key: str, key_ok: bool) -> Reply | None:
        if not key_ok:
            return error_reply("gateway_xml", UNKNOWN_KEY if key else NO_ACCESS)
        with self._lock:
            self._calls[today.run_date.isoformat()] += 1
            used = self._calls[today.run_date.isoformat()]
        return error_reply("gateway_xml", QUOTA_USED_UP) if used > rule.quota else None

    def _composed(
        self, question: Question, register: LibraryRegister, today: Today, faults: list[Fault]
    ) -> Reply:
        reply: Reply | None = None
        for fault in faults:
            reply = reply or _replaced(question, register.rule, fault)
        reply = reply or question.refusal or _own(question, register, today, faults)
        return finished(reply, faults)


def _replaced(question: Question, rule: LibraryRule, fault: Fault) -> Reply | None:
    settings = fault.settings
    if fault.name == "library_error":
        return error_reply(
            settings["carrier"],
            int(settings["code"]),
            int(settings["status"]),
            envelope=rule.envelope,
            spaced=bool(settings["spaced"]),
        )
    if fault.name == "key_echo":
        sent = dict(question.request.pairs).get("serviceKey", "")
        for _ in range({"raw": 0, "percent": 1, "double": 2}[settings["encoding"]]):
            sent = quote(sent, safe="")
        text = f"{RESULT_NAMES[UNKNOWN_KEY]} [{sent}]"
        return carried("gateway_xml", str(UNKNOWN_KEY), text, int(settings["status"]))
    return replaced(question, fault)


def _own(question: Question, register: LibraryRegister, today: Today, faults: list[Fault]) -> Reply:
    form = LibraryForm(register.rule.envelope, register.rule.names)
    if form.envelope == "wrapped":
        form = replace(form, items="list")
    for fault in faults:
        if fault.name == "library_form":
            chosen = {name: value for name, value in fault.settings.items() if value is not None}
            form = replace(form, **chosen)
    page = _page(question, register, today.day, faults)
    if not page.rows and form.items in ("item", "list"):
        return error_reply("service", NO_DATA, envelope=form.envelope)
    ids = [row_id(row) for row in page.rows]
    if question.form == "xml":
        return _xml_page(page.rows, page.total, question, ids)
    rows = [renamed(row, form.names) for row in page.rows]
    for fault in faults:
        if fault.name == "changed_envelope":
            suffix = fault.settings["to"] or "V2"
            rows = [{f"{name}{suffix}": value for name, value in row.items()} for row in rows]
    number = question.page_index + 1
    return page_reply(rows, page.total, number, question.limit, form, ids)


def _page(question: Question, register: LibraryRegister, day: int, faults: list[Fault]) -> _Page:
    names = {fault.name for fault in faults}
    order = register.serials(day, question.page_index, faults)
    start = 0 if "offset_ignored" in names else question.offset
    end = start + question.limit
    for fault in faults:
        if fault.name == "long_pages":
            end += int(fault.settings["rows"])
    page = _Page([register.row(serial, day) for serial in order[start:end]], len(order))
    has_next = end < len(order)
    for fault in faults:
        _spoil(page, question.page_index, has_next, fault)
    return page


def _spoil(page: _Page, index: int, has_next: bool, fault: Fault) -> None:
    settings = fault.settings
    if fault.name == "empty_page_with_next":
        page.rows = []
    elif fault.name == "short_pages" and has_next and index % 3 == 1:
        page.rows = page.rows[: max(1, len(page.rows) - int(settings["rows"]))]
    elif fault.name == "changing_total":
        step = int(settings["delta"]) * (index // 2 + 1)
        page.total = max(0, page.total + (-step if index % 2 else step))
    elif fault.name == "total_shrunk":
        total = settings["total"]
        page.total = int(page.total * settings["factor"]) if total is None else int(total)
    elif fault.name in ("missing_id", "missing_title") and page.rows:
        row = page.rows[min(int(settings["row"]), len(page.rows) - 1)]
        name = "insttCode" if fault.name == "missing_id" else "lbrryNm"
        if settings["form"] == "absent":
            row.pop(name, None)
        else:
            row[name] = ""


def _xml_page(rows: list[Row], total: int, question: Question, ids: list[str]) -> Reply:
    items = "".join(
        f"<item>{''.join(f'<{name}>{escape(text)}</{name}>' for name, text in row.items())}</item>"
        for row in rows
    )
    counts: dict[str, Any] = {
        "numOfRows": question.limit,
        "pageNo": question.page_index + 1,
        "totalCount": total,
    }
    tail = "".join(f"<{name}>{count}</{name}>" for name, count in counts.items())
    head = f"<header><resultCode>00</resultCode><resultMsg>{RESULT_NAMES[0]}</resultMsg></header>"
    text = f"<response>{head}<body><items>{items}</items>{tail}</body></response>"
    return Reply(200, text.encode(), XML_TYPE, ids=tuple(ids))
