"""Remote, hybrid or on-site in the one spelling of ``job_postings``, or nothing when not said."""

import re

_SPELLINGS = {
    "remote": "remote",
    "fullyremote": "remote",
    "hybrid": "hybrid",
    "onsite": "on-site",
    "inoffice": "on-site",
}
_WORD = re.compile(r"\b(remote|hybrid)\b", re.IGNORECASE)


def workplace_named(text: str) -> str | None:
    """The workplace when ``text`` says nothing else (``On-site``, ``onsite``, ``Remote``)."""
    return _SPELLINGS.get(re.sub(r"[\s_-]+", "", text).lower())


def workplace_in(location: str | None) -> str | None:
    """``remote`` or ``hybrid`` when exactly one of the words stands in a location."""
    words = {word.lower() for word in _WORD.findall(location or "")}
    return words.pop() if len(words) == 1 else None
