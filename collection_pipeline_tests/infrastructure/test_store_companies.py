"""Companies of aggregator postings are found or registered, once each (R25)."""

import pytest

from collection_pipeline.store.companies import Companies, normalised_company_name
from collection_pipeline_tests.kit.database import NOON, Store
from collection_pipeline_tests.kit.rivals import winner_then_loser
from collection_pipeline_tests.kit.statement_costs import listening

COMPANIES = "companies"


@pytest.mark.parametrize(
    "written",
    [
        "카카오",
        "(주)카카오",
        "카카오(주)",
        "㈜카카오",
        "주식회사 카카오",
        " 카 카 오 ",
        "카카오 주식회사",
        "카카오\u200b",
        "（주）카카오",
    ],
)
def test_a_korean_companys_spellings_are_one(written: str) -> None:
    """Legal forms, spaces and full-width brackets make no second company."""
    assert normalised_company_name(written) == "카카오"


@pytest.mark.parametrize(
    "written",
    ["Acme", "ACME Inc.", "acme, inc", "Acme Co., Ltd.", "Ａｃｍｅ", "acme LLC", "Acme Corp."],
)
def test_a_foreign_companys_spellings_are_one(written: str) -> None:
    """Case, width and legal forms."""
    assert normalised_company_name(written) == "acme"


@pytest.mark.parametrize("written", ["Incruit", "Ltdable", "Cohort", "코리아(주)유통"])
def test_a_legal_form_inside_a_word_belongs_to_the_name(written: str) -> None:
    """Only whole words are taken off."""
    assert normalised_company_name(written) == written.casefold().replace("(주)", "")


@pytest.mark.parametrize("written", ["(주)", "주식회사", "Inc."])
def test_a_name_that_is_nothing_but_a_legal_form_stays(written: str) -> None:
    """An empty key would make all of them one company."""
    assert normalised_company_name(written) != ""


def test_a_name_longer_than_its_column_still_finds_itself(store: Store) -> None:
    """Cut in one place, so that registering and finding agree."""
    name = "가" * 300
    store.run(lambda connection: Companies().register(connection, [name], NOON))
    assert list(found(store, name)) == [name]


def found(store: Store, *names: str) -> dict[str, int]:
    """Ids by the names as they were given."""
    return store.run(lambda connection: Companies().find(connection, names))


def register(store: Store, *names: str) -> None:
    """Registers in one transaction."""
    store.run(lambda connection: Companies().register(connection, names, NOON))


def test_every_spelling_of_a_page_gets_the_same_company(store: Store) -> None:
    """R25: found by the name as the page gave it; unknown names are absent."""
    register(store, "(주)카카오")
    got = found(store, "카카오", "주식회사 카카오", "네이버")
    assert set(got) == {"카카오", "주식회사 카카오"} and len(set(got.values())) == 1


def test_registering_again_changes_nothing(store: Store) -> None:
    """Idempotent: id and display name stay those of the first time."""
    register(store, "Acme")
    before = store.tables()
    register(store, "ACME Inc.", "acme")
    assert store.tables()[COMPANIES] == before[COMPANIES]


def test_names_without_letters_register_nothing(store: Store) -> None:
    """A blank company name is no company."""
    register(store, "", "  ", "\u200b")
    assert store.rows(f"SELECT * FROM {COMPANIES}") == []
    assert found(store, "", " ") == {}


def test_an_alias_leads_to_its_company_and_a_companys_own_name_comes_first(store: Store) -> None:
    """Section 7: aliases are for names that differ."""
    register(store, "Acme", "Other")
    ids = found(store, "Acme", "Other")
    for name in ("애크미", "other"):
        store.write(
            "INSERT INTO company_aliases (company_id, normalised_name) VALUES (:id, :name)",
            id=ids["Acme"],
            name=name,
        )
    assert found(store, "애크미", "Other") == {"애크미": ids["Acme"], "Other": ids["Other"]}


def test_new_companies_are_inserted_in_key_order(store: Store) -> None:
    """R25, section 7: two pages with the same names lock them in the same order."""
    with listening(store.engine) as heard:
        register(store, "c", "a", "d", "b")
    ((_, values),) = heard.on(f"INSERT INTO {COMPANIES}")
    keys = [value for name, value in values.items() if name.startswith("normalised_name")]
    assert keys == ["a", "b", "c", "d"]


def test_two_pages_that_register_the_same_names_at_once_get_the_same_companies(
    store: Store, other: Store
) -> None:
    """R25: sorted by key, so crosswise orders do not deadlock; the loser finds the winner's."""
    names = [f"company {number}" for number in range(20)]
    winner_then_loser(
        store,
        lambda: register(store, *names),
        lambda: register(other, *names[::-1], "one more"),
        f"INSERT INTO {COMPANIES}",
    )
    assert store.value(f"SELECT COUNT(*) FROM {COMPANIES}") == 21
    assert found(store, *names) == found(other, *names)
