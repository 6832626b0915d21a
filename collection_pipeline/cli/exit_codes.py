"""The exit codes of the command line (spec section 3)."""

DONE = 0
UNEXPECTED = 1
USAGE = 2
UNUSABLE = 3
WORK_FAILED = 4
ALARM = 5
TRY_LATER = 75
