"""Faults that replace the answer: a status, a redirect, another body, another envelope."""

import time
from email.utils import formatdate
from typing import Any

from collection_pipeline.simulator.error_bodies import blocked, captcha, error_carrier, key_echo
from collection_pipeline.simulator.fault_plan import Fault
from collection_pipeline.simulator.messages import HTML_TYPE, Reply, json_reply
from collection_pipeline.simulator.questions import Question, Site

DATE_PREFIX = "date+"
STATUS_FAULTS = {"http_404": 404, "http_429": 429, "http_500": 500, "http_503": 503}


def replaced(question: Question, fault: Fault) -> Reply | None:
    """The reply that takes the place of the platform's own; None when this fault has none."""
    settings = fault.settings
    if fault.name == "http_403":
        return blocked()
    if fault.name in STATUS_FAULTS or fault.name == "http_status":
        status = STATUS_FAULTS.get(fault.name) or int(settings["status"])
        return _status(status, settings.get("retry_after"))
    if fault.name == "redirect":
        location = settings["location"]
        if location is None:
            location = f"https://{question.request.header('host')}{question.request.target}"
        return Reply(int(settings["status"]), b"", HTML_TYPE, (("Location", str(location)),))
    if fault.name == "captcha":
        return captcha()
    if fault.name == "error_body":
        return error_carrier(
            question.platform, settings["carrier"], int(settings["code"]), int(settings["status"])
        )
    if fault.name == "key_echo":
        return key_echo(question, settings["encoding"], int(settings["status"]))
    return Reply(200, b"") if fault.name == "empty_body" else None


def changed_envelope(site: Site, body: Any, fault: Fault) -> Any:
    """The body with its main key renamed; a bare array gets an envelope."""
    if isinstance(body, list):
        return {fault.settings["to"] or site.envelope_name: body}
    if not isinstance(body, dict):
        return body
    for name in (site.envelope_name, "data", "job", "result", site.id_name):
        if name in body:
            renamed = fault.settings["to"] or f"{name}_v2"
            return {renamed if key == name else key: value for key, value in body.items()}
    return body


def _status(status: int, retry_after: object) -> Reply:
    headers: tuple[tuple[str, str], ...] = ()
    if retry_after is not None:
        text = str(retry_after)
        if text.startswith(DATE_PREFIX):
            text = formatdate(time.time() + float(text.removeprefix(DATE_PREFIX)), usegmt=True)
        headers = (("Retry-After", text),)
    reply = json_reply({"status": status, "message": "simulated"}, status)
    return Reply(reply.status, reply.body, reply.content_type, headers)
