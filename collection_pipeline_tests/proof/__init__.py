"""The promises of the specification, tried under faults; `make proof` tries each more often."""
