"""Answers a platform request: find the question, let faults act, log, reply.

Order of the stages: a fault that replaces the answer, else the platform's own answer with its
listing faults; then the envelope, the coding, and last the way of delivery.
"""

from dataclasses import replace
from typing import Any

from collection_pipeline.simulator.answer_faults import changed_envelope, replaced
from collection_pipeline.simulator.calendar_hand import Today
from collection_pipeline.simulator.catalogue import FIRST_LATE_SERIAL, Catalogue
from collection_pipeline.simulator.coding_faults import recoded
from collection_pipeline.simulator.fault_plan import (
    CODING_FAULTS,
    DELIVERY_FAULTS,
    Fault,
    Subject,
)
from collection_pipeline.simulator.lever import EU_LISTENER
from collection_pipeline.simulator.listing import take_page
from collection_pipeline.simulator.messages import (
    XML_TYPE,
    Delivery,
    Reply,
    Request,
    json_reply,
)
from collection_pipeline.simulator.questions import Question, Site
from collection_pipeline.simulator.request_log import RequestLog, arrival
from collection_pipeline.simulator.simulation import Simulation
from collection_pipeline.simulator.wanted import ended

UNREADABLE = {
    *CODING_FAULTS,
    "timeout",
    "reset",
    "reset_midbody",
    "broken_json",
    "changed_envelope",
}
SILENT = ("timeout", "reset")


class PlatformDesk:
    """Serves the paths of all platforms from one simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def answer(self, request: Request) -> Reply:
        """The reply to one request; its log line is on disk when this returns."""
        world = self._simulation.world
        today = world.calendar.today()
        found = world.ask(request) if request.method == "GET" else None
        if found is None:
            status = 404 if request.method == "GET" else 405
            reply = json_reply({"status": status, "message": "Not Found"}, status)
            self._log(request, None, None, today, reply, [])
            return reply
        site, question = found
        key, catalogue = world.resolve(question, today.day)
        if catalogue is not None and catalogue.platform == "lever":
            at_home = catalogue.rule.eu == (request.listener == EU_LISTENER)
            catalogue = catalogue if at_home else None
        subject = Subject(
            question.platform, question.kind, key, question.page_index, question.item_id, today.day
        )
        faults = self._simulation.faults.acting_on(subject)
        reply = _compose(site, question, catalogue, today, faults)
        self._log(request, question, key, today, reply, faults)
        return reply

    def _log(
        self,
        request: Request,
        question: Question | None,
        key: str | None,
        today: Today,
        reply: Reply,
        faults: list[Fault],
    ) -> None:
        log = self._simulation.log
        log.write(request_record(log, request, question, key, today, reply, faults))


def request_record(
    log: RequestLog,
    request: Request,
    question: Question | None,
    key: str | None,
    today: Today,
    reply: Reply,
    faults: list[Fault],
) -> dict[str, Any]:
    """The log's record of one request and its answer, without any access key."""
    names = [fault.name for fault in faults]
    return arrival(request) | {
        "host_header": request.header("host"),
        "listener": request.listener,
        "platform": question.platform if question else None,
        "kind": question.kind if question else None,
        "method": request.method,
        "path": log.clean(request.path),
        "query": log.clean(request.raw_query),
        "key_ok": question.key_ok if question else None,
        "search_key": None if key is None else log.clean(key),
        "page": question.page_index if question and question.kind == "list" else None,
        "item_id": question.item_id if question else None,
        "run_date": today.run_date.isoformat(),
        "status": None if reply.delivery.kind in SILENT else reply.status,
        "ids": [] if UNREADABLE.intersection(names) else list(reply.ids),
        "fault": "+".join(names) or None,
        "connection": request.connection,
    }


def _compose(
    site: Site, question: Question, catalogue: Catalogue | None, today: Today, faults: list[Fault]
) -> Reply:
    reply: Reply | None = None
    for fault in faults:
        reply = reply or replaced(question, fault)
    if reply is None:
        reply = _own(site, question, catalogue, today, faults)
    return finished(reply, faults)


def finished(reply: Reply, faults: list[Fault]) -> Reply:
    """The reply after the faults that spoil a whole body, its coding or its way."""
    for fault in faults:
        if fault.name == "broken_json":
            reply = replace(reply, body=reply.body[: len(reply.body) // 2])
        reply = recoded(reply, fault)
        if fault.name in DELIVERY_FAULTS:
            reply = replace(reply, delivery=_delivery(fault))
    return reply


def _own(
    site: Site, question: Question, catalogue: Catalogue | None, today: Today, faults: list[Fault]
) -> Reply:
    if question.refusal is not None:
        return question.refusal
    unknown = site.unknown_key(question) if catalogue is None else None
    if unknown is not None:
        return unknown
    if question.kind == "detail":
        return _detail(site, question, catalogue, today, faults)
    page = take_page(site, question, catalogue, today.day, today.first, faults)
    return _bodied(site, site.envelope(page), tuple(page.ids), faults)


def _detail(
    site: Site, question: Question, catalogue: Catalogue | None, today: Today, faults: list[Fault]
) -> Reply:
    serial = catalogue.serial(question.item_id or "") if catalogue else None
    if catalogue is None or serial is None:
        return site.gone(question, None, today.first)
    facts = catalogue.facts(serial, today.day)
    for fault in faults:
        if fault.name == "detail_gone":
            form = fault.settings["form"]
            if site.platform == "wanted" and form in ("close", "draft"):
                return ended(question, facts, today.first, form)
            return site.gone(question, None if form else facts, today.first)
    if serial < FIRST_LATE_SERIAL and serial not in catalogue.state(today.day).order:
        return site.gone(question, facts, today.first)
    body = site.detail(question, facts, today.first)
    return _bodied(site, body, (facts.posting_id,), faults)


def _bodied(site: Site, body: object, ids: tuple[str, ...], faults: list[Fault]) -> Reply:
    if isinstance(body, bytes):
        return Reply(200, body, XML_TYPE, ids=ids)
    for fault in faults:
        if fault.name == "changed_envelope":
            body = changed_envelope(site, body, fault)
    return json_reply(body, ids=ids)


def _delivery(fault: Fault) -> Delivery:
    settings = fault.settings
    return Delivery(
        fault.name,
        seconds=float(settings.get("seconds", 0.0)),
        kept=float(settings.get("kept", 1.0)),
        part=str(settings.get("part", "body")),
    )
