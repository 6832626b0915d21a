"""What a search condition may say (R2, R23b): unknown, empty and ignored keys are refused.

A filter that a platform does not know is not an error there: it drops the filter and answers with
everything. So the rules are closed lists, and every refusal says what to write instead.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collection_pipeline.domain.source import Condition, Platform
from collection_pipeline.platforms.contract import InvalidCondition

VALUE_CHARS = 200
MOST_VALUES = 50
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class KeyRule:
    """One key: a full-match pattern, what to write instead, how often it may stand.

    ``because`` says what is wrong with a value that does not match.
    """

    pattern: str
    example: str
    most_values: int = 1
    because: str = "is not understood"


def check_condition(
    platform: Platform,
    condition: Condition,
    rules: Mapping[str, KeyRule],
    hints: Mapping[str, str] | None = None,
) -> None:
    """Raise ``InvalidCondition`` unless every key is in ``rules`` and every value fits its rule.

    ``hints`` says for keys that people try but the platform ignores what to write instead.
    """
    for key, values in condition.items():
        if hints and key in hints:
            raise InvalidCondition(f"{platform}: {hints[key]}")
        rule = rules.get(key)
        if rule is None:
            known = ", ".join(sorted(rules))
            raise InvalidCondition(f"{platform}: unknown key {key[:50]!r}; write one of: {known}")
        _check_values(platform, key, values, rule)


def _check_values(platform: Platform, key: str, values: object, rule: KeyRule) -> None:
    if not isinstance(values, list) or not values:
        raise InvalidCondition(f"{platform}: {key} has no value; write {rule.example}")
    if len(values) > rule.most_values:
        times = "once" if rule.most_values == 1 else f"at most {rule.most_values} times"
        raise InvalidCondition(f"{platform}: write {key} {times}, such as {rule.example}")
    if len({str(value) for value in values}) < len(values):
        raise InvalidCondition(f"{platform}: {key} repeats a value; write each value once")
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise InvalidCondition(f"{platform}: {key} is empty; write {rule.example}")
        if "," in value and rule.most_values != 1 and not re.fullmatch(rule.pattern, value):
            raise InvalidCondition(
                f"{platform}: {key} takes no comma list; repeat the key, such as {rule.example}"
            )
        if len(value) > VALUE_CHARS or _CONTROL.search(value):
            raise InvalidCondition(
                f"{platform}: {key} takes at most {VALUE_CHARS} printable characters; "
                f"write {rule.example}"
            )
        if not re.fullmatch(rule.pattern, value):
            raise InvalidCondition(
                f"{platform}: {key}={value!r} {rule.because}; write {rule.example}"
            )
