"""The pipeline beside what people use today: the same work for all, from one page server.

    make bench-setup     the contestants' virtual environment, .local/bench-venv
    make bench-contest   the rounds and the tables; options in CONTEST

The work: five sources of a local page server in Saramin's wire form, which has no detail requests,
so that all do the same number of requests. Every contestant is a process of its own that imports
what it needs, says READY and begins on a line of its standard input (``go``).
"""
