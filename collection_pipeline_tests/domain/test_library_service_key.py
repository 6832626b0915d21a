"""Both forms of the portal's key become one; what cannot be a key is refused unseen (R29, R47)."""

import pickle
import traceback
from urllib.parse import quote

import pytest

from collection_pipeline.platforms.library.service_key import SECRET_NAME, service_key
from collection_pipeline.settings import InvalidSetting

PLAIN = "aB3/xyz+Q9qQ=="


@pytest.mark.parametrize("text", [PLAIN, quote(PLAIN, safe=""), f" {PLAIN}\n", "0af3" * 16])
def test_a_key_of_either_form_is_decoded_once(text: str) -> None:
    """R47: a plain key's ``+`` stays, an encoded key's ``%2B`` becomes one."""
    expected = "0af3" * 16 if text.startswith("0af3") else PLAIN
    assert service_key({SECRET_NAME: text}).plain == expected


@pytest.mark.parametrize(
    "text",
    [
        "sEcRet%G0abc",
        "sEcRet%",
        "sEcRet%4",
        "sEc Ret",
        "sEc%20Ret",
        "sEc\tRet",
        "sEc\x00Ret",
        "sEcRet%0a",
        "sEcRet%FF",
        "sEcRet가",
        "sEcRet%25%32%42",
        quote(quote("sEcRet+", safe=""), safe=""),
        "sEcRet" * 100,
        "sEc",
        "%73Ec",
    ],
)
def test_a_malformed_key_is_refused_and_not_shown(text: str) -> None:
    """R29: the sentence names the setting; no cause or context holds the key either."""
    with pytest.raises(InvalidSetting) as refused:
        service_key({SECRET_NAME: text})
    shown = "".join(traceback.format_exception(refused.value)) + repr(refused.value.__dict__)
    assert f"COLLECTION_{SECRET_NAME}" in str(refused.value)
    assert "sEc" not in str(refused.value)
    assert text not in shown


@pytest.mark.parametrize(
    ("text", "words"),
    [("sEcRet%G0", "two hex digits"), ("sEcRet%252B", "more than once"), ("sEc Ret", "a space")],
)
def test_the_sentence_says_what_is_wrong_with_the_key(text: str, words: str) -> None:
    """R47: the operator cannot see it, so the kind of mistake is named."""
    with pytest.raises(InvalidSetting, match=words):
        service_key({SECRET_NAME: text})


@pytest.mark.parametrize("secrets", [{}, {SECRET_NAME: ""}, {SECRET_NAME: "  "}])
def test_a_missing_key_says_where_to_set_it(secrets: dict[str, str]) -> None:
    """R47: the environment or a secret file."""
    with pytest.raises(InvalidSetting, match=f"COLLECTION_{SECRET_NAME}_FILE"):
        service_key(secrets)


def test_a_key_is_not_part_of_any_text() -> None:
    """R29: neither ``str`` nor ``repr`` nor a format shows it."""
    key = service_key({SECRET_NAME: PLAIN})
    assert "xyz" not in f"{key} {key!r} {key!s} {[key]}"
    assert pickle.loads(pickle.dumps(key)) == key
