"""The two bodies a webhook can be sent: plain JSON, and what Slack's incoming webhooks take.

Slack cuts texts by itself and takes ``<!channel>`` for a command, so its form is short, escaped,
and one field of plain text.
"""

import json

from collection_pipeline.domain.notification import Notification, Severity

SLACK_MOST_CHARS = 3_900
"""Slack advises 4,000 characters and counts them after escaping."""
_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_SIGNS = {Severity.INFO: "✅", Severity.WARNING: "⚠️", Severity.INCIDENT: "🚨"}
_ROOM_FOR_MORE = 40


def webhook_body(form: str, notification: Notification, idempotency_key: str) -> bytes:
    """The body in the configured form (``json`` or ``slack``), UTF-8."""
    document = (
        slack_document(notification)
        if form == "slack"
        else {
            **notification.document(),
            "text": notification.text,
            "idempotency_key": idempotency_key,
        }
    )
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def slack_document(notification: Notification) -> dict[str, object]:
    """One message for a Slack channel; no link in it is unfurled, nobody is mentioned."""
    return {
        "text": _within_bounds(notification),
        "mrkdwn": False,
        "unfurl_links": False,
        "unfurl_media": False,
    }


def log_line(notification: Notification) -> str:
    """The whole message on one line."""
    return f"{notification.severity.value} {notification.kind}: " + " | ".join(
        (notification.title, *notification.lines)
    )


def _within_bounds(notification: Notification) -> str:
    """Whole lines, as many as fit; what is left out is counted."""
    title = f"{_SIGNS[notification.severity]} {notification.title}".translate(_ESCAPED)
    kept, used = [_cut(title)], len(_cut(title))
    escaped = [line.translate(_ESCAPED) for line in notification.lines]
    for number, line in enumerate(escaped):
        is_last = number == len(escaped) - 1
        if used + 1 + len(line) > SLACK_MOST_CHARS - (0 if is_last else _ROOM_FOR_MORE):
            left = len(escaped) - number
            kept.append(f"… and {left:,} more {'line' if left == 1 else 'lines'}")
            break
        kept.append(line)
        used += 1 + len(line)
    return "\n".join(kept)


def _cut(title: str) -> str:
    return title[: SLACK_MOST_CHARS // 4]
