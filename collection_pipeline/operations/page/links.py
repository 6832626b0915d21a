"""Addresses within the page; the chosen language travels in each of them."""

from dataclasses import dataclass
from urllib.parse import urlencode

from collection_pipeline.operations.page.asking import Language


@dataclass(frozen=True)
class Links:
    """``root`` is the path under which a proxy serves the application, mostly empty."""

    language: Language
    root: str = ""

    def to(self, path: str, **query: object) -> str:
        """``path`` with the query; ``None`` and empty values are left out."""
        given = {name: value for name, value in query.items() if value not in (None, "")}
        if self.language is not Language.KOREAN:
            given["lang"] = self.language.value
        text = urlencode({name: str(value) for name, value in given.items()})
        return f"{self.root}{path}{'?' + text if text else ''}"

    def plain(self, path: str) -> str:
        """``path`` of something that knows no language: a style sheet, the API."""
        return self.root + path

    def in_language(self, language: Language) -> "Links":
        """The same addresses in another language."""
        return Links(language, self.root)
