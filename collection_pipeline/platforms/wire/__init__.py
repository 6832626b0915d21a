"""One request at a time: paced, checked, bounded and redacted (R25 to R29)."""
