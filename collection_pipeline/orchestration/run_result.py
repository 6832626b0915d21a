"""What a run did, in one short tag: the only text of ours that the list of runs shows (R45).

Invariant: a title never decides how a run ends. Where it cannot be written, the run's log says so
and the run goes on; truth is in the tables.
"""

import dagster as dg

RESULT_TAG = "result"
"""Short, since the list of runs shows about 35 characters of name and value together."""
MOST_RESULT_CHARS = 120
"""What the list cuts off is shown whole by "View all tags"."""
RunContext = dg.OpExecutionContext | dg.AssetCheckExecutionContext


def show_result(context: RunContext, words: str) -> str:
    """Title the run with ``words``, the most important ones first, and give them back."""
    try:
        context.instance.add_run_tags(context.run.run_id, {RESULT_TAG: shortened(words)})
    except Exception as error:
        context.log.warning("the run could not be titled: %s", type(error).__name__)
    return words


def shortened(words: str) -> str:
    """One line that fits the list."""
    line = " ".join(words.split())
    if len(line) <= MOST_RESULT_CHARS:
        return line
    return line[: MOST_RESULT_CHARS - 1].rstrip() + "…"
