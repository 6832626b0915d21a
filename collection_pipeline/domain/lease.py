"""A lease: the right of one worker to write to one cycle until a time of the database's clock.

The worker trusts it for a shorter time on its own monotonic clock, counted from *before* the claim
was asked for, so that it never sends under a lease that the database may have ended (mysql.md).
"""

LEASE_MARGIN_SECONDS = 5.0
"""Taken off the lease for the clock's rounding and one short transaction."""


def trusted_until(asked_at: float, lease_seconds: float) -> float:
    """Monotonic end of trust in a lease of ``lease_seconds`` that was asked for at ``asked_at``."""
    return asked_at + lease_seconds - LEASE_MARGIN_SECONDS
