"""What is collected, for whom, and whether collection is switched on (R27, R33, R44)."""

from sqlalchemy import BigInteger, Column, Date, Index, Integer, String, Table, Text

from collection_pipeline.store.schema.columns import (
    TABLE_OPTIONS,
    ascii_text,
    big_id,
    counter,
    instant,
    key_text,
    metadata,
    switch,
)

job_sources = Table(
    "job_sources",
    metadata,
    big_id(),
    Column("platform", ascii_text(20), nullable=False),
    Column("source_type", ascii_text(20), nullable=False),
    Column("label", String(200), nullable=False),
    Column("search_condition", Text(collation="utf8mb4_bin"), nullable=False),
    Column("company_id", BigInteger),
    switch("active", default=True),
    Column("detail_mode", ascii_text(20), nullable=False, server_default="required"),
    Column("daily_list_pages", Integer),
    Column("daily_postings", Integer),
    Column("daily_detail_requests", Integer),
    Column("min_delay_ms", Integer),
    instant("created_at", nullable=False, now=True),
    instant("updated_at", nullable=False, now=True),
    **TABLE_OPTIONS,
)

companies = Table(
    "companies",
    metadata,
    big_id(),
    Column("normalised_name", key_text(255), nullable=False, unique=True),
    Column("display_name", String(255), nullable=False),
    instant("created_at", nullable=False, now=True),
    **TABLE_OPTIONS,
)

company_aliases = Table(
    "company_aliases",
    metadata,
    big_id(),
    Column("company_id", BigInteger, nullable=False),
    Column("normalised_name", key_text(255), nullable=False, unique=True),
    instant("created_at", nullable=False, now=True),
    Index("ix_company_aliases_company_id", "company_id"),
    **TABLE_OPTIONS,
)

job_source_health = Table(
    "job_source_health",
    metadata,
    Column("job_source_id", BigInteger, primary_key=True, autoincrement=False),
    counter("abnormal_days"),
    Column("judged_date", Date),
    Column("broken_since", Date),
    instant("updated_at", nullable=False, now=True),
    Column("broken_notified_since", Date),
    **TABLE_OPTIONS,
)

feature_flags = Table(
    "feature_flags",
    metadata,
    Column("name", ascii_text(100), primary_key=True),
    switch("enabled"),
    Column("changed_by", String(100), nullable=False),
    instant("changed_at", nullable=False),
    **TABLE_OPTIONS,
)

feature_flag_changes = Table(
    "feature_flag_changes",
    metadata,
    big_id(),
    Column("name", ascii_text(100), nullable=False),
    switch("enabled"),
    Column("changed_by", String(100), nullable=False),
    instant("changed_at", nullable=False),
    Index("ix_feature_flag_changes_name_changed_at", "name", "changed_at"),
    **TABLE_OPTIONS,
)
