"""Small changes of the deploy files, each of which breaks one rule."""

from dataclasses import dataclass

from collection_pipeline_tests.kit.deploy_host_breakages import HOST_CHANGES


@dataclass(frozen=True)
class Breakage:
    """``old`` stands once in ``file``; with ``new`` in its place ``rule`` is broken, alone."""

    name: str
    file: str
    old: str
    new: str
    rule: str


OFF = "the schedule is off until its variable says otherwise"
TIME = "the schedule starts at 04:00 in Seoul on the first"
CALL = "the schedule calls RunTask"
COMMAND = "the schedule runs the documented command"
REPEAT = "the start is not repeated for long"
SECRETS = "secrets reach the task through parameters only"
CONFINED = "the container is confined"
NARROW = "permissions are narrow"
TRUST = "each role trusts one service"
POLICIES = "roles have no other policy"
TOLD = "variables are told and checked"
KEY = "the key stays in its parameter"
CONFINED_POD = "the CronJob's container is confined"
POD_SECRETS = "the CronJob's secrets come by reference"
HASHED = "the image's packages are hashed"
SENT = "nothing secret is sent to the image"

Change = tuple[str, str, str, str]  # name, old text, new text, rule

SCHEDULE: tuple[Change, ...] = (
    ("always-on", "= var.schedule_state", '= "ENABLED"', OFF),
    ("utc", '= "Asia/Seoul"', '= "UTC"', TIME),
    ("daily", "cron(0 4 1 * ? *)", "cron(0 4 * * ? *)", TIME),
    ("window", 'mode = "OFF"', 'mode = "FLEXIBLE"', TIME),
    ("another-call", "aws-sdk:ecs:runTask", "aws-sdk:ecs:startTask", CALL),
    ("small-letter", "AssignPublicIp =", "assignPublicIp =", CALL),
    ("two-tasks", "= 1\n", "= 2\n", CALL),
    ("shrinking", '"external"]', '"external", "--allow-shrink"]', COMMAND),
    ("no-such-container", "= local.container.name", '= "other"', COMMAND),
    ("key-in-override", "Command = local", "Environment = []\nCommand = local", COMMAND),
    ("many-repeats", "= 2\n", "= 185\n", REPEAT),
    ("hours-late", "= 3600", "= 86400", REPEAT),
    ("shell", "EnableExecuteCommand = false", "EnableExecuteCommand = true", CONFINED),
)
TASK: tuple[Change, ...] = (
    ("no-terraform", "locals {", "locals {{", "the file can be read"),
    ("working-by-default", '["check"]', '["tick"]', COMMAND),
    ("plain-secret", "valueFrom = var.database", "value = var.database", SECRETS),
    ("renamed-secret", '"COLLECTION_DATABASE_URL"', '"DATABASE_URL"', SECRETS),
    ("literal-secret", "= local.library_service_key_arn", '= "in the clear"', SECRETS),
    ("root", '"10001:10001"', '"0:0"', CONFINED),
    ("writable", "readonlyRootFilesystem = true", "readonlyRootFilesystem = false", CONFINED),
    ("capable", 'drop = ["ALL"]', "drop = []", CONFINED),
    ("account", '"task"', '"123456789012"', "no account is named"),
)
IAM: tuple[Change, ...] = (
    ("any-task", '"${aws_ecs_task_definition.program.arn_without_revision}:*"', '"*"', NARROW),
    ("any-cluster", '"ecs:cluster"', '"ecs:service"', NARROW),
    ("any-service", '"iam:PassedToService"', '"iam:AssociatedResourceArn"', NARROW),
    ("all-of-ecs", '["ecs:RunTask"]', '["ecs:RunTask", "ecs:*"]', NARROW),
    ("every-secret", "[var.database_url_parameter_arn, local", '["*", local', NARROW),
    ("any-schedule", '"aws:SourceArn"', '"aws:PrincipalArn"', TRUST),
    ("any-principal", '["scheduler.amazonaws.com"]', '["*"]', TRUST),
    ("managed-policy", '-execution"\n', '-execution"\nmanaged_policy_arns = []\n', POLICIES),
    ("other-document", "execution.json", "scheduler.json", POLICIES),
)
VARIABLES: tuple[Change, ...] = (
    ("untold", '"Prefix of every name that is created here; ', '"" #', TOLD),
    ("own-region", 'and the schedule."\n', 'and the schedule."\ndefault = "x"\n', TOLD),
    ("shown-key", "sensitive   = true", "sensitive   = false", KEY),
    ("printed-key", "sensitive   = true\n", "sensitive = true\nvalidation {\n}\n", KEY),
)
VERSIONS: tuple[Change, ...] = (("any-terraform", '">= 1.9.0"', '"1"', "releases are bounded"),)
CRONJOB: tuple[Change, ...] = (
    ("no-yaml", "metadata:\n  name: l", "metadata: [\n  name: l", "the file can be read"),
    ("job", "kind: CronJob", "kind: Job", "the manifest is a CronJob"),
    ("pod-utc", "Asia/Seoul", "UTC", "the CronJob starts at 04:00 in Seoul on the first"),
    ("pod-overlap", "Forbid", "Allow", "the CronJob runs one at a time"),
    ("pod-repeats", "backoffLimit: 0", "backoffLimit: 6", "the CronJob repeats nothing"),
    ("pod-restarts", "Policy: Never", "Policy: OnFailure", "the CronJob repeats nothing"),
    ("pod-endless", "activeDeadline", "otherDeadline", "the CronJob ends in time"),
    ("pod-latest", "pipeline:0.2.0", "pipeline:latest", "the CronJob runs the documented command"),
    ("pod-source", '"library", "', '"csv", "', "the CronJob runs the documented command"),
    ("pod-plain", "key: library-service-key", "value: k", POD_SECRETS),
    ("pod-third", "env:\n", "envFrom: []\n              env:\n", POD_SECRETS),
    ("pod-root", "runAsNonRoot: true", "runAsNonRoot: false", CONFINED_POD),
    ("pod-writable", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", CONFINED_POD),
    ("pod-token", "ServiceAccountToken: false", "ServiceAccountToken: true", CONFINED_POD),
    ("pod-disk", "sizeLimit: 1Gi", "medium: Memory", CONFINED_POD),
    ("pod-greedy", "memory: 1Gi", "storage: 1Gi", "the CronJob's resources are bounded"),
)
SCRIPT: tuple[Change, ...] = (
    (
        "script-on",
        '"${LIBRARY_INGEST_ENABLED:-0}" = 1',
        "1 = 1",
        "cron starts nothing until it is switched on",
    ),
    (
        "script-zone",
        "TZ=KST-9 date",
        "date",
        "cron starts the ingest at 04:00 in Seoul on the first",
    ),
    ("script-csv", "--source library", "--source csv", "cron runs the documented command"),
    ("script-private", "set -a", "set +a", "cron runs the documented command"),
    ("script-open", "-perm -004", "-perm -002", "cron's settings are private"),
)
IMAGE: tuple[Change, ...] = (
    (
        "one-stage",
        "RUN useradd",
        "RUN pip install x --no-index && useradd",
        "the image has two stages",
    ),
    (
        "other-base",
        "FROM python:3.11.14-slim-bookworm\nRUN",
        "FROM python:3.11-slim\nRUN",
        "the image has two stages",
    ),
    (
        "unhashed",
        "--require-hashes -r requirements-deploy.lock",
        "-r requirements-deploy.lock",
        HASHED,
    ),
    ("from-index", "--no-deps --no-index /wheels", "--no-deps /wheels", HASHED),
    ("shell-entry", '["collection-pipeline"]', '["sh", "-c"]', "the image runs the program"),
    ("named-user", "USER 10001:10001", "USER collection", "the image is not root"),
    ("built-in", "PYTHONUNBUFFERED=1", "COLLECTION_LIBRARY_SERVICE_KEY=k", SENT),
    ("whole-folder", "COPY collection_pipeline ./collection_pipeline", "COPY . .", SENT),
)

BREAKAGES = tuple(
    Breakage(name, file, old, new, rule)
    for file, changes in {
        "aws/schedule.tf": SCHEDULE,
        "aws/task.tf": TASK,
        "aws/iam.tf": IAM,
        "aws/variables.tf": VARIABLES,
        "aws/versions.tf": VERSIONS,
        "kubernetes/library-ingest-cronjob.yaml": CRONJOB,
        "cron/library-ingest.sh": SCRIPT,
        "Dockerfile": IMAGE,
        **HOST_CHANGES,
    }.items()
    for name, old, new, rule in changes
)
