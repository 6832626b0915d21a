"""How many calls of an access key a platform accepts in a KST day (R9, R20).

All sources that use the key share the number, over every process and machine. Invariant: what is
stored of a key is a digest from which the key cannot be read (R29).
"""

import hashlib
import hmac
from dataclasses import dataclass

from collection_pipeline.domain.budget import InvalidBudget


@dataclass(frozen=True)
class KeyQuota:
    """``daily_calls`` of the key with this ``fingerprint``; at least 1, from midnight KST on."""

    platform: str
    fingerprint: str
    daily_calls: int

    def __post_init__(self) -> None:
        if self.daily_calls < 1:
            raise InvalidBudget(f"daily_calls must be at least 1, not {self.daily_calls}")


@dataclass(frozen=True)
class KeyQuotaUsedUp:
    """Nothing was reserved and nothing may be sent: the day's calls of the key are used up."""


def key_fingerprint(platform: str, access_key: str) -> str:
    """64 hexadecimal characters, the same in every process; another platform gives others."""
    # The key is the HMAC's key, so the digest of one use tells nothing about that of another.
    words = f"collection-pipeline daily quota of {platform}"
    return hmac.new(access_key.encode(), words.encode(), hashlib.sha256).hexdigest()
