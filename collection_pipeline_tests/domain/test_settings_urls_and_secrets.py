"""URLs and secrets of the settings: what is refused, and that nothing of them shows (R28, R29)."""

import traceback
from pathlib import Path

import pytest

from collection_pipeline.settings import (
    PLATFORM_BASE_URLS,
    PREFIX,
    SECRET_NAMES,
    InvalidSetting,
    load_settings,
)

PLANTED = "pl4nted/secret=="


def planted(name: str) -> str:
    """A secret that the setting accepts; the webhook's is an address."""
    return f"https://hooks.test/{PLANTED}" if name == "WEBHOOK_URL" else PLANTED


def refused(**environ: str) -> str:
    """The error text for these variables (named without the prefix)."""
    with pytest.raises(InvalidSetting) as caught:
        load_settings({PREFIX + name: value for name, value in environ.items()})
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", PLATFORM_BASE_URLS)
def test_base_urls_default_to_the_real_hosts_over_https(name: str) -> None:
    """Spec section 3: ``<PLATFORM>_BASE_URL``, the real one."""
    assert load_settings({}).base_urls[name].startswith("https://")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("https://mirror.example", "https://mirror.example"),
        ("https://mirror.example:8443/", "https://mirror.example:8443"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("http://localhost:9000", "http://localhost:9000"),
        ("http://[::1]:9000", "http://[::1]:9000"),
    ],
)
@pytest.mark.parametrize("name", PLATFORM_BASE_URLS)
def test_a_base_url_is_scheme_host_and_port(name: str, text: str, kept: str) -> None:
    """Spec section 3: http for loopback only."""
    settings = load_settings({f"{PREFIX}{name}_BASE_URL": text})
    assert settings.base_urls[name] == kept


@pytest.mark.parametrize(
    "text",
    [
        "http://mirror.example",
        "http://127.0.0.1.example.com",
        "http://10.0.0.1:9000",
        "http://0.0.0.0:9000",
        "ftp://mirror.example",
        "mirror.example",
        "https://",
        "https:///path",
        "https://mirror.example/api",
        "https://mirror.example?key=1",
        "https://mirror.example#x",
        f"https://user:{PLANTED}@mirror.example",
        "https://user@mirror.example",
        "https://:word@mirror.example",
        "https://@mirror.example",
        "https://mirror.example:99999",
        "https://mirror.example:port",
        "https://[::1",
    ],
)
@pytest.mark.parametrize("name", PLATFORM_BASE_URLS)
def test_any_other_base_url_is_refused_by_name(name: str, text: str) -> None:
    """Spec section 3, R28, R29: the text of a refused URL is not shown, it may hold a password."""
    message = refused(**{f"{name}_BASE_URL": text})
    assert f"{PREFIX}{name}_BASE_URL" in message
    assert PLANTED not in message


@pytest.mark.parametrize("name", ["DATABASE_URL", "DAGSTER_DATABASE_URL"])
@pytest.mark.parametrize("scheme", ["mysql", "mysql+pymysql", "mysql+mysqldb"])
def test_a_database_url_may_have_one_of_three_schemes(name: str, scheme: str) -> None:
    """Spec section 3."""
    url = f"{scheme}://user:word@127.0.0.1:3306/collection"
    settings = load_settings({PREFIX + name: url})
    assert url in {settings.database_url, settings.dagster_database_url}


@pytest.mark.parametrize("name", ["DATABASE_URL", "DAGSTER_DATABASE_URL"])
@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{PLANTED}@127.0.0.1/collection",
        f"sqlite:///{PLANTED}",
        "mysql://user:pl4nted@word@127.0.0.1:3306/collection",
        "mysql://user:pl4nted/word@127.0.0.1:3306/collection",
        "mysql://user:pl4nted#word@127.0.0.1:3306/collection",
        "mysql://user:pl4nted-word@127.0.0.1:3306",
        "mysql://user:pl4nted-word@/collection",
        "mysql://user:pl4nted-word@127.0.0.1:port/collection",
        "pl4nted-word",
    ],
)
def test_another_database_url_is_refused_without_showing_it(name: str, url: str) -> None:
    """Spec section 3: never printed with a password; R29."""
    message = refused(**{name: url})
    assert PREFIX + name in message
    assert "pl4nted" not in message


@pytest.mark.parametrize("name", ["DATABASE_URL", "DAGSTER_DATABASE_URL"])
def test_a_database_url_may_come_from_a_file(name: str, tmp_path: Path) -> None:
    """Spec section 3, R29: it holds a password, so it has the rules of a secret."""
    file = tmp_path / "url"
    url = "mysql://user:pl4nted-word@127.0.0.1:3306/collection"
    file.write_text(f"{url}\n", encoding="utf-8")
    settings = load_settings({f"{PREFIX}{name}_FILE": str(file)})
    assert {settings.database_url, settings.dagster_database_url} == {url, None}
    twice = refused(**{name: url, f"{name}_FILE": str(file)})
    missing = refused(**{f"{name}_FILE": str(tmp_path / "nowhere")})
    for message in (twice, missing):
        assert f"{PREFIX}{name}_FILE" in message
        assert "pl4nted" not in message
    file.write_text("sqlite:///pl4nted-word", encoding="utf-8")
    assert "pl4nted" not in refused(**{f"{name}_FILE": str(file)})


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_secret_comes_from_the_environment_or_from_a_file(name: str, tmp_path: Path) -> None:
    """Spec section 3: each also as ``..._FILE``."""
    file = tmp_path / "secret"
    file.write_text(f"{planted(name)}\n", encoding="utf-8")
    assert load_settings({PREFIX + name: planted(name)}).secrets == {name: planted(name)}
    assert load_settings({f"{PREFIX}{name}_FILE": str(file)}).secrets == {name: planted(name)}
    assert load_settings({}).secrets == {}


@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_secret_given_twice_or_unreadable_is_refused_by_name(name: str, tmp_path: Path) -> None:
    """Spec section 3, R29: no value and no content in the text."""
    file = tmp_path / "secret"
    file.write_bytes(PLANTED.encode() + b"\xff\xfe")
    twice = refused(**{name: PLANTED, f"{name}_FILE": str(file)})
    missing = refused(**{f"{name}_FILE": str(tmp_path / "nowhere")})
    folder = refused(**{f"{name}_FILE": str(tmp_path)})
    undecodable = refused(**{f"{name}_FILE": str(file)})
    for message in (twice, missing, folder, undecodable):
        assert f"{PREFIX}{name}_FILE" in message
        assert PLANTED not in message


def test_no_secret_shows_in_repr_or_text() -> None:
    """R29: settings travel into logs and tracebacks."""
    environ = {PREFIX + name: f"{planted(name)}-{name}" for name in SECRET_NAMES}
    for name in ("DATABASE_URL", "DAGSTER_DATABASE_URL"):
        environ[PREFIX + name] = "mysql://user:pl4nted-word@127.0.0.1/collection"
    settings = load_settings(environ)
    assert len(settings.secrets) == len(SECRET_NAMES)
    for text in (repr(settings), str(settings), f"{settings}"):
        assert "pl4nted" not in text


def test_no_secret_shows_when_another_setting_is_wrong() -> None:
    """R29: the error of one variable carries nothing of the others."""
    environ = {name: f"{planted(name)}-{name}" for name in SECRET_NAMES}
    assert "pl4nted" not in refused(**environ, TICK_CLAIM_LIMIT="0")


@pytest.mark.parametrize(
    "address",
    [
        "http://hooks.test/pl4nted",
        "hooks.test/pl4nted",
        "ftp://h/pl4nted",
        "https://",
        "https://h:x/p",
    ],
)
def test_a_webhook_without_https_is_refused_and_not_shown(address: str) -> None:
    """R29, R40: the address is a secret, so the sentence names only the variable."""
    sentence = refused(WEBHOOK_URL=address)
    assert f"{PREFIX}WEBHOOK_URL" in sentence and "pl4nted" not in sentence
    assert load_settings({f"{PREFIX}WEBHOOK_URL": "http://127.0.0.1:9/x"}).secrets


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("WEBHOOK_FORMAT", "xml"),
        ("MORNING_HOOK", "no_function"),
        ("MORNING_HOOK", "package.module:"),
        ("DAGSTER_UI_URL", "javascript:alert(1)"),
        ("DAGSTER_UI_URL", "http://user:word@host"),
        ("DAGSTER_UI_URL", 'http://host/"><script>'),
        ("OPERATIONS_PAGE_URL", "javascript:alert(1)"),
    ],
)
def test_a_wrong_choice_name_or_page_address_is_refused_by_name(name: str, wrong: str) -> None:
    """Spec section 3: one sentence that names the variable and says what to write."""
    assert f"{PREFIX}{name}" in refused(**{name: wrong})


def test_choice_name_and_page_address_are_read() -> None:
    """R40: format, hook, and where the page's run links lead."""
    settings = load_settings(
        {
            f"{PREFIX}WEBHOOK_FORMAT": "Slack",
            f"{PREFIX}MORNING_HOOK": "alerts.morning:start",
            f"{PREFIX}DAGSTER_UI_URL": "https://dagster.test/ui/",
            f"{PREFIX}OPERATIONS_PAGE_URL": "https://operations.test/",
        }
    )
    assert settings.webhook_format == "slack"
    assert settings.morning_hook == "alerts.morning:start"
    assert settings.dagster_ui_url == "https://dagster.test/ui"
    assert settings.operations_page_url == "https://operations.test"
    assert load_settings({}).webhook_format == "json"
