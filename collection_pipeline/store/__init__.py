"""The only door to MySQL: tables, session contract, clock, transactions and repositories."""
