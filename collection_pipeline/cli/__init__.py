"""The command line: thin commands over the services, errors as one sentence and an exit code."""
