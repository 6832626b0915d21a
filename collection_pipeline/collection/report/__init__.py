"""The budget report: what a period's days used, and which daily budgets they propose."""
