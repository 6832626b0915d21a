"""The longer texts of an invented posting."""

from collections.abc import Sequence

from collection_pipeline.simulator.posting_facts import PostingFacts


def bullets(lines: Sequence[str], dice: int, mark: str, newline: str = "\n") -> str:
    """Three of the lines as a bulleted text; `newline` is \\n or \\r\\n as the platform mixes."""
    start = dice % len(lines)
    chosen = [lines[(start + step) % len(lines)] for step in range(3)]
    return newline.join(f"{mark} {line}" for line in chosen)


def intro(facts: PostingFacts) -> str:
    """Two sentences about the company and the role."""
    return (
        f"{facts.company.plain}에서 함께할 {facts.role[0]}를 찾습니다.\n"
        f"주로 {', '.join(facts.skills)} 환경에서 일합니다."
    )


def html_intro(facts: PostingFacts) -> str:
    """The same as HTML, with an entity inside the text."""
    return (
        f"<h2><strong>{facts.company.plain} 소개</strong></h2>\n"
        f"<p>{facts.role[0]} 포지션입니다.&nbsp;R&amp;D 조직과 함께 일합니다.</p>"
    )


def html_list(lines: Sequence[str], dice: int) -> str:
    """Three of the lines as an HTML list."""
    start = dice % len(lines)
    items = "".join(f"<li>{lines[(start + step) % len(lines)]}</li>" for step in range(3))
    return f"<ul>{items}</ul>"


def plain_list(lines: Sequence[str], dice: int) -> str:
    """Three of the lines as plain text."""
    start = dice % len(lines)
    return "\n".join(lines[(start + step) % len(lines)] for step in range(3))
