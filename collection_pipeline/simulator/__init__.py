"""A local stand-in for the posting platforms and the library register: demos, tests, load runs.

Invariant: everything served is a function of (scenario, run date, request), so that a client's
tables can be compared with :mod:`request_log` afterwards (I8). It imports nothing of the other
layers: its bodies are written from the platforms' wire contracts, never from the client's parsers.
"""
