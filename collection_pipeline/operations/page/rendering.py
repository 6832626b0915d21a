"""Templates into answers: everything is escaped, and a name that is missing is an error."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from collection_pipeline.operations.page.asking import Language
from collection_pipeline.operations.page.links import Links
from collection_pipeline.operations.page.texts import texts_in

TEMPLATES_FOLDER = Path(__file__).parent / "templates"
_templates = Environment(
    loader=FileSystemLoader(TEMPLATES_FOLDER),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def rendered(
    template: str,
    links: Links,
    path: str,
    query: Mapping[str, str],
    words: Mapping[str, Any],
    status: int = 200,
) -> HTMLResponse:
    """The page; ``path`` and ``query`` are its own, for the link to the other language."""
    other = Language.ENGLISH if links.language is Language.KOREAN else Language.KOREAN
    # One slash and quoted: a path that came as //host would lead to that host.
    inner_path = "/" + quote(path.removeprefix(links.root).lstrip("/"))
    frame = {
        "t": texts_in(links.language),
        "links": links,
        "lang": links.language.value,
        "other_lang": other.value,
        "other_href": links.in_language(other).to(inner_path, **query),
        "path": inner_path,
    }
    # Given in that order, so that no page can replace its frame.
    text = _templates.get_template(template).render({**words, **frame})
    return HTMLResponse(text, status)
