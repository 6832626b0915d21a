"""The operations page: server-rendered, bilingual, complete without a script (R43)."""
