"""Every word of the page, in both languages, by key; nothing a reader sees is written elsewhere.

Both languages have the same keys with the same names in braces, which a test holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from collection_pipeline.operations.page.asking import Language
from collection_pipeline.operations.page.texts_en import ENGLISH
from collection_pipeline.operations.page.texts_ko import KOREAN


@dataclass(frozen=True)
class Texts:
    """The texts of one language. Values that are put in are escaped by the template, like all."""

    by_key: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """The text called ``key``; a key that does not exist is a ``KeyError``.

        ``{s}`` is the plural of what ``count`` counts, where a language has one.
        """
        if not values:
            return self.by_key[key]
        plural = "" if str(values.get("count")) == "1" else "s"
        return self.by_key[key].format_map({"s": plural, **values})

    def __contains__(self, key: str) -> bool:
        """Whether there is such a text."""
        return key in self.by_key


_TEXTS = {Language.KOREAN: Texts(KOREAN), Language.ENGLISH: Texts(ENGLISH)}


def texts_in(language: Language) -> Texts:
    """The page's texts in ``language``."""
    return _TEXTS[language]
