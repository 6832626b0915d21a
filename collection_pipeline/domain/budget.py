"""Budgets: what a slice and a day may still request and keep (R9, R20, R21)."""

from dataclasses import dataclass, replace
from typing import Self

from collection_pipeline.domain.failure import CollectionBudgetLimit


class InvalidBudget(ValueError):
    """A budget of zero or less: it could never be spent."""


@dataclass(frozen=True)
class CollectionBudget:
    """Upper limits of at least 1: list pages and details are requests, postings distinct rows."""

    list_pages: int
    postings: int
    detail_requests: int

    def __post_init__(self) -> None:
        for name in ("list_pages", "postings", "detail_requests"):
            if getattr(self, name) < 1:
                raise InvalidBudget(f"{name} must be at least 1, not {getattr(self, name)}")

    def overridden(
        self,
        list_pages: int | None = None,
        postings: int | None = None,
        detail_requests: int | None = None,
    ) -> Self:
        """This budget with the limits that are given put in place of its own."""
        given = {
            "list_pages": list_pages,
            "postings": postings,
            "detail_requests": detail_requests,
        }
        return replace(self, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class BudgetUse:
    """What has been spent: requests sent (failed ones included) and distinct postings kept."""

    list_pages: int = 0
    postings: int = 0
    detail_requests: int = 0

    def plus(self, other: "BudgetUse") -> "BudgetUse":
        """Both uses together."""
        return BudgetUse(
            self.list_pages + other.list_pages,
            self.postings + other.postings,
            self.detail_requests + other.detail_requests,
        )


@dataclass(frozen=True)
class RemainingBudget:
    """What is left of the slice and of the day; never negative."""

    list_pages: int
    postings: int
    detail_requests: int

    @classmethod
    def of(cls, limit: CollectionBudget, used: BudgetUse) -> Self:
        """``limit`` less ``used``, each part at least 0."""
        return cls(
            max(0, limit.list_pages - used.list_pages),
            max(0, limit.postings - used.postings),
            max(0, limit.detail_requests - used.detail_requests),
        )


def first_exhausted(
    *, list_pages: bool = False, postings: bool = False, details: bool = False, key: bool = False
) -> CollectionBudgetLimit | None:
    """The limit to report when several are used up at once: the first of R20's order."""
    exhausted = zip(CollectionBudgetLimit, (list_pages, postings, details, key), strict=True)
    return next((limit for limit, is_exhausted in exhausted if is_exhausted), None)
