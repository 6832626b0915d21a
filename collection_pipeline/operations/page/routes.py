"""The routes of the operations page: read, put into words, render; errors in the same design."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from collection_pipeline.domain.outage import DatabaseUnavailable
from collection_pipeline.operations.context import OperationsContext
from collection_pipeline.operations.page.asking import (
    Language,
    PageProblem,
    language_of,
    number_of,
    search_question,
    today_question,
)
from collection_pipeline.operations.page.links import Links
from collection_pipeline.operations.page.postings_page import (
    posting_words,
    read_posting,
    read_search,
    search_words,
)
from collection_pipeline.operations.page.rendering import rendered
from collection_pipeline.operations.page.source_page import read_source, source_words
from collection_pipeline.operations.page.texts import texts_in
from collection_pipeline.operations.page.today_page import read_today, today_words
from collection_pipeline.operations.problems import RETRY_AFTER_SECONDS

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class PageRoute(APIRoute):
    """A route whose expected errors are pages, not problem documents."""

    def get_route_handler(self) -> Handler:
        """The route's handler, with its expected errors turned into answers."""
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await inner(request)
            except PageProblem as problem:
                return _problem_page(request, problem.status, problem.key)
            except DatabaseUnavailable as away:
                answer = _problem_page(request, 503, "database_away", str(away))
                answer.headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
                return answer

        return handler


def page_router(context: OperationsContext) -> APIRouter:
    """``/``, ``/sources/{id}``, ``/postings`` and ``/postings/{id}`` over ``context``."""
    router = APIRouter(route_class=PageRoute)
    settings = context.settings

    @router.get("/")
    def today(request: Request) -> Response:
        language = language_of(request.query_params)
        question = today_question(request.query_params)
        words = today_words(
            read_today(context, question), question, settings, *_voice(request, language)
        )
        return _page(request, language, "today.html", words)

    @router.get("/sources/{source_id}")
    def source(request: Request, source_id: str) -> Response:
        language = language_of(request.query_params)
        month = read_source(context, number_of(source_id, "bad_address"))
        words = source_words(month, settings, *_voice(request, language))
        return _page(request, language, "source.html", words)

    @router.get("/postings")
    def postings(request: Request) -> Response:
        language = language_of(request.query_params)
        question = search_question(request.query_params)
        words = search_words(
            read_search(context, question), question, settings, *_voice(request, language)
        )
        return _page(request, language, "postings.html", words)

    @router.get("/postings/{posting_id}")
    def posting(request: Request, posting_id: str) -> Response:
        language = language_of(request.query_params)
        one = read_posting(context, number_of(posting_id, "bad_address"))
        words = posting_words(one, settings, *_voice(request, language))
        return _page(request, language, "posting.html", words)

    return router


def unknown_address(request: Request) -> Response:
    """The page for an address at which there is nothing."""
    return _problem_page(request, 404, "no_address")


def _voice(request: Request, language: Language) -> tuple[Any, Links]:
    return texts_in(language), _links(request, language)


def _links(request: Request, language: Language) -> Links:
    return Links(language, str(request.scope.get("root_path", "")))


def _page(
    request: Request,
    language: Language,
    template: str,
    words: Mapping[str, Any],
    status: int = 200,
) -> Response:
    query = {name: value for name, value in request.query_params.items() if name != "lang"}
    return rendered(template, _links(request, language), request.url.path, query, words, status)


def _problem_page(request: Request, status: int, key: str, detail: str | None = None) -> Response:
    try:
        language = language_of(request.query_params)
    except PageProblem:
        language = Language.KOREAN
    words = {"status": status, "said": texts_in(language)(key), "detail": detail}
    # The query is what could not be used, so the other language starts without it.
    links = _links(request, language)
    return rendered("problem.html", links, request.url.path, {}, words, status)
