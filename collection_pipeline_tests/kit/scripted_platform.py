"""A platform without a network: adapters over scripted pages, and an executor that only logs.

Requests are named ``page 3`` or ``detail 17``; tests script outcomes by that name and read the log.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from collection_pipeline.domain.failure import CollectionFailureReason
from collection_pipeline.domain.key_quota import KeyQuotaUsedUp
from collection_pipeline.domain.posting import (
    GonePosting,
    ListedPosting,
    PostingDetail,
    PostingFields,
    list_signature,
)
from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.contract import (
    ListPage,
    PlatformReply,
    PlatformRequest,
    Position,
    RequestFailed,
    RequestPolicy,
)
from collection_pipeline.platforms.wire.executor import (
    ExecutedRequest,
    RequestOutcome,
    SourceRequestExecutor,
    Stopped,
)
from collection_pipeline.platforms.wire.pacing import SendStatistics

BASE_URL = "https://jobs.example"
POLICY = RequestPolicy(r"/(page|detail)/.+")
DETAIL = PostingDetail({"description": "text"}, "{}")


def listed(
    job_id: str,
    *,
    title: str = "Engineer",
    company: str | None = None,
    unparsed: tuple[str, ...] = (),
    version: int = 1,
) -> ListedPosting:
    """One list row; its signature follows ``title`` and ``version``."""
    return ListedPosting.of(
        source_job_id=job_id,
        fields=PostingFields(title=title, company_name=company),
        signature=list_signature(version, {"id": job_id, "title": title}),
        raw="{}",
        unparsed=unparsed,
    )


def rows_of(ids: Iterable[str]) -> list[ListedPosting]:
    """A row for each id."""
    return [listed(job_id) for job_id in ids]


def at(page: int) -> Position:
    """The position of a scripted page, counted from 0."""
    return {"page": page}


def pages_of(*pages: str, stated_total: int | None = None) -> list[ListPage]:
    """Pages whose ids are the words of each text; the last one has no next page."""
    last = len(pages) - 1
    return [
        ListPage(rows_of(ids.split()), at(number + 1) if number < last else None, stated_total)
        for number, ids in enumerate(pages)
    ]


def failed(
    reason: CollectionFailureReason, *, status: int | None = None, sent: bool = True
) -> ExecutedRequest:
    """A request that met ``reason``; ``sent=False`` is one that the policy refused."""
    failure = RequestFailed(reason, f"scripted {reason}", status=status)
    return ExecutedRequest(None, failure, sent=sent, written=sent)


@dataclass
class ScriptedPlatform:
    """``PlatformAdapter`` over a list of pages, an exception among them is raised on reading.

    Details that are not scripted succeed. ``size`` is the full size of a page.
    """

    pages: Sequence[ListPage | RequestFailed] = ()
    details: Mapping[str, PostingDetail | GonePosting | RequestFailed] = field(default_factory=dict)
    size: int = 3
    has_details: bool = True
    whole_board: bool = False
    tells_rows_before: bool = True
    total_tolerance: float = 0.01
    policy: RequestPolicy = POLICY
    platform: Platform = Platform.WANTED

    def check(self, condition: Condition) -> None:
        """Every condition will do."""

    def base_url(self, condition: Condition) -> str:
        """One host."""
        return BASE_URL

    def first_position(self, condition: Condition, page_rows: int) -> Position:
        """Page 0."""
        return at(0)

    def page_rows(self, position: Position) -> int:
        """The full size."""
        return self.size

    def rows_before(self, position: Position) -> int | None:
        """Full pages before this one."""
        return int(position["page"]) * self.size if self.tells_rows_before else None

    def list_request(self, condition: Condition, position: Position) -> PlatformRequest:
        """``page <number>``."""
        return PlatformRequest(BASE_URL, f"/page/{position['page']}")

    def read_page(self, condition: Condition, position: Position, reply: PlatformReply) -> ListPage:
        """The scripted page."""
        page = self.pages[int(position["page"])]
        if isinstance(page, RequestFailed):
            raise page
        return page

    def detail_request(self, condition: Condition, source_job_id: str) -> PlatformRequest:
        """``detail <id>``."""
        return PlatformRequest(BASE_URL, f"/detail/{source_job_id}")

    def read_detail(
        self, condition: Condition, source_job_id: str, reply: PlatformReply
    ) -> PostingDetail | GonePosting:
        """The scripted detail."""
        detail = self.details.get(source_job_id, DETAIL)
        if isinstance(detail, RequestFailed):
            raise detail
        return detail


@dataclass
class CataloguePlatform(ScriptedPlatform):
    """Serves ``catalogue`` by offset, with a page size that the first position chooses.

    ``ends_empty``: the end sign is an empty page (as Jumpit's), else a missing next link.
    """

    catalogue: Sequence[ListedPosting] = ()
    states_total: bool = False
    ends_empty: bool = False
    size_is_fixed: bool = False

    def first_position(self, condition: Condition, page_rows: int) -> Position:
        """Offset 0, with at most ``page_rows`` rows a page where the size can be chosen."""
        rows = self.size if self.size_is_fixed else min(self.size, page_rows)
        return {"page": 0, "rows": rows}

    def page_rows(self, position: Position) -> int:
        """As the first position chose; a whole board has no size."""
        return int(position["rows"])

    def rows_before(self, position: Position) -> int | None:
        """The offset."""
        return int(position["page"])

    def read_page(self, condition: Condition, position: Position, reply: PlatformReply) -> ListPage:
        """The slice of the catalogue at the offset."""
        start, size = int(position["page"]), int(position["rows"])
        end = len(self.catalogue) if self.whole_board else start + size
        rows = self.catalogue[start:end]
        is_last = not rows if self.ends_empty else end >= len(self.catalogue)
        total = len(self.catalogue) if self.states_total else None
        following: Position = {"page": end, "rows": size}
        return ListPage(
            rows,
            None if is_last else following,
            stated_total=total,
            reaches_total=self.ends_empty and bool(rows) and end >= len(self.catalogue),
        )


class ScriptedExecutor(SourceRequestExecutor):
    """Logs each request in ``sent`` and answers 200, or what ``answers`` holds for its name.

    ``most_requests`` requests are sent, then the permit says stop (R18); ``key_calls`` requests,
    then the key's day is used up. ``refused`` are the names of requests that were asked for and
    not sent.
    """

    def __init__(
        self,
        answers: Mapping[str, RequestOutcome] | None = None,
        *,
        most_requests: int | None = None,
        key_calls: int | None = None,
    ) -> None:
        self.statistics = SendStatistics()
        self.answers = dict(answers or {})
        self.most_requests = most_requests
        self.key_calls = key_calls
        self.sent: list[str] = []
        self.refused: list[str] = []
        self.delays: list[float] = []

    def execute(
        self, request: PlatformRequest, policy: RequestPolicy, delay_seconds: float
    ) -> RequestOutcome:
        """The scripted outcome."""
        name = request.path.strip("/").replace("/", " ")
        self.delays.append(delay_seconds)
        if self.most_requests is not None and len(self.sent) >= self.most_requests:
            self.refused.append(name)
            return Stopped("asked to stop")
        if self.key_calls is not None and len(self.sent) >= self.key_calls:
            self.refused.append(name)
            return KeyQuotaUsedUp()
        outcome = self.answers.get(
            name, ExecutedRequest(PlatformReply(200, {}, b"{}"), None, sent=True, written=True)
        )
        is_sent = isinstance(outcome, ExecutedRequest) and outcome.sent
        (self.sent if is_sent else self.refused).append(name)
        return outcome

    @property
    def pages(self) -> list[int]:
        """Numbers of the list pages sent, in order."""
        return [int(name.split()[1]) for name in self.sent if name.startswith("page ")]

    @property
    def details(self) -> list[str]:
        """Ids of the details sent, in order."""
        return [name.split()[1] for name in self.sent if name.startswith("detail ")]
