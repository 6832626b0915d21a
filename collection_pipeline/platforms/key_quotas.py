"""Which platforms count calls by access key, and how many a day (R9, R20).

Saramin accepts 500 calls of a key a day, counted anew from midnight KST: platforms.md section 2.
Greenhouse, Lever, Wanted and Jumpit are read without a key.
"""

from collection_pipeline.domain.key_quota import KeyQuota, key_fingerprint
from collection_pipeline.domain.source import Platform
from collection_pipeline.settings import Settings


def key_quota_of(platform: Platform, settings: Settings) -> KeyQuota | None:
    """The quota of the key in ``settings``; ``None`` where the platform has none, or no key."""
    if platform is not Platform.SARAMIN:
        return None
    access_key = settings.secrets.get("SARAMIN_ACCESS_KEY")
    if not access_key:
        return None
    fingerprint = key_fingerprint(platform.value, access_key)
    return KeyQuota(platform.value, fingerprint, settings["SARAMIN_DAILY_CALLS"])
