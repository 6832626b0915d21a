"""A page as a test reads it: elements by tag, class and id, and the text that a person sees."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "input", "img", "br"})


@dataclass
class Element:
    """An element with its children in order; strings are text."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    def walk(self) -> Iterator["Element"]:
        """This element and all within it."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def all(self, tag: str | None = None, of_class: str | None = None) -> list["Element"]:
        """The elements within that have the tag and the class."""
        return [
            one
            for one in self.walk()
            if one is not self
            and tag in (None, one.tag)
            and (of_class is None or of_class in one.attributes.get("class", "").split())
        ]

    def one(self, tag: str | None = None, of_class: str | None = None) -> "Element":
        """The only such element."""
        (found,) = self.all(tag, of_class)
        return found

    def by_id(self, name: str) -> "Element":
        """The element with that id."""
        (found,) = [one for one in self.walk() if one.attributes.get("id") == name]
        return found

    @property
    def text(self) -> str:
        """Its words with single spaces between them."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield " "
                yield from child._texts()


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        ended = self._open.pop()
        assert ended.tag == tag, f"</{tag}> ends <{ended.tag}>"

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def read_html(text: str) -> Element:
    """The document; tags that do not nest or an id given twice fail the test."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader._open == [reader.root], "some element is not closed"
    ids = [one.attributes["id"] for one in reader.root.walk() if "id" in one.attributes]
    assert len(ids) == len(set(ids)), "an id is given twice"
    return reader.root
