"""Many runs into the queue from one code server, where the command line would start one for each.

The parts are those of ``dagster job launch``; the release of Dagster is pinned.
"""

from collections.abc import Iterable

import dagster as dg
from dagster._cli.job import _create_run
from dagster._cli.workspace.cli_target import (
    get_code_location_from_workspace,
    get_remote_job_from_remote_repo,
    get_remote_repository_from_code_location,
    get_workspace_from_cli_opts,
)
from dagster_shared.cli import WorkspaceOpts

MODULE = "collection_pipeline.definitions"


def enqueue(instance: dg.DagsterInstance, jobs: Iterable[str]) -> None:
    """One run of each job, without any configuration; nothing has started when this returns."""
    options = WorkspaceOpts(module_name=(MODULE,))
    with get_workspace_from_cli_opts(
        instance, version=dg.__version__, workspace_opts=options
    ) as workspace:
        location = get_code_location_from_workspace(workspace, None)
        repository = get_remote_repository_from_code_location(location, None)
        for name in jobs:
            run = _create_run(
                instance=instance,
                code_location=location,
                remote_repo=repository,
                remote_job=get_remote_job_from_remote_repo(repository, name),
                run_config={},
                tags=None,
                op_selection=None,
                run_id=None,
            )
            instance.submit_run(run.run_id, workspace)
