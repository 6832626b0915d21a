"""Alembic revisions: expand-only DDL, no data backfill (R34)."""
