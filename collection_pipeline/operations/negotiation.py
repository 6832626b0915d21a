"""Whether an error at an address is told as a page or as a problem document.

Programs ask under prefixes of their own and always get a problem document. Elsewhere a reader who
accepts HTML, as a browser does, gets a page; ``*/*`` alone, as ``curl`` sends it, asks for none.
"""

import re
from collections.abc import Iterator

MACHINE_PATHS = ("/api", "/healthz", "/metrics", "/openapi.json", "/static")
HTML = "text/html"
PROBLEMS = frozenset({"application/problem+json", "application/json"})
_QUALITY = re.compile(r"q=(0(\.[0-9]{0,3})?|1(\.0{0,3})?)", re.IGNORECASE)


def gets_page(path: str, accept: str) -> bool:
    """``path`` is the request's, ``accept`` its Accept header, empty for none."""
    if any(path == one or path.startswith(f"{one}/") for one in MACHINE_PATHS):
        return False
    wanted = dict(_ranges(accept))
    html = wanted.get(HTML, 0.0)
    return html > 0 and html >= max(wanted.get(one, 0.0) for one in PROBLEMS)


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """Each media range with its weight; a weight that cannot be read counts as 1."""
    for part in accept.split(","):
        name, *parameters = (one.strip() for one in part.split(";"))
        weights = [found[1] for one in parameters if (found := _QUALITY.fullmatch(one))]
        yield name.lower(), float(weights[0]) if weights else 1.0
