"""Small changes of the files for hosts and clusters, each of which breaks one rule."""

Change = tuple[str, str, str, str]  # name, old text, new text, rule

COMPOSE: tuple[Change, ...] = (
    ("no-compose", "name: collection\n", "name: [collection\n", "the file can be read"),
    (
        "unknown-key",
        "    mem_limit: 4g",
        "    mem_limits: 4g",
        "the Compose files follow the specification",
    ),
    (
        "two-modules",
        "pipeline.definitions",
        "pipeline.worker_definitions",
        "Compose runs every process once",
    ),
    (
        "any-daemon",
        "    container_name: collection-daemon\n",
        "",
        "Compose runs every process once",
    ),
    ("no-such-option", "[db, migrate]", "[db, migrate, --all]", "Compose's commands are real"),
    ("no-such-check", "grpc-health-check", "grpc-healthcheck", "Compose's commands are real"),
    ("root", 'user: "10001:10001"', 'user: "0:0"', "Compose's containers are confined"),
    (
        "writable",
        "  init: true\n",
        "  init: true\n  privileged: true\n",
        "Compose's containers are confined",
    ),
    ("open-page", '"127.0.0.1:3001:3001"', '"3001:3001"', "Compose's ports stay private"),
    ("untold-runs", 'GROUP: "1"', 'GROUP: "0"', "Compose's containers may end slowly"),
    ("repeated-schema", 'restart: "no"', "restart: always", "Compose's containers are watched"),
    (
        "early-schema",
        "{condition: service_completed_successfully}\n    healthcheck:\n      test: [CMD, dag",
        "{condition: service_started}\n    healthcheck:\n      test: [CMD, dag",
        "Compose's order is safe",
    ),
    (
        "plain-password",
        "MYSQL_ROOT_HOST: localhost",
        "MYSQL_PASSWORD: word",
        "Compose's secrets are files",
    ),
    ("not-mounted", "      - operations_token\n", "", "Compose's secrets are files"),
    ("other-server", "mysql:8.4.7", "mysql:9.7.1", "Compose's images are pinned"),
    (
        "any-release",
        "collection-pipeline:0.2.0",
        "collection-pipeline:latest",
        "Compose's images are pinned",
    ),
    ("telling", '  DAGSTER_DISABLE_TELEMETRY: "yes"\n', "", "Compose tells nothing outside"),
    ("no-such-file", "./mysql-init.sh", "./mysql.sh", "what Compose names is there"),
)
DAGSTER: tuple[Change, ...] = (
    ("unknown-section", "nux:\n", "nuxx:\n", "Dagster reads Compose's files"),
    (
        "told-usage",
        "telemetry:\n  enabled: false",
        "telemetry:\n  enabled: true",
        "Dagster reads Compose's files",
    ),
    (
        "shared-limit",
        "value: {applyLimitPerUniqueValue: true}",
        "value: tick",
        "Dagster reads Compose's files",
    ),
)
DOCKER: tuple[Change, ...] = (
    ("unknown-launcher", "DockerRunLauncher", "DockerLauncher", "Dagster reads Compose's files"),
    ("unknown-option", "mem_limit", "memory_limit", "Compose's run containers are confined"),
    (
        "unlisted-secret",
        "WEBHOOK_URL_FILE=/run/secrets/webhook_url",
        "WEBHOOK_URL=https://hook",
        "Compose's run containers get files",
    ),
)
HOSTS: tuple[Change, ...] = (
    (
        "schedules-twice",
        "collection_worker_b",
        "collection_again",
        "Compose's schedules are in one place",
    ),
    (
        "named-twice",
        "collection_worker_b",
        "collection_pipeline",
        "Compose's schedules are in one place",
    ),
)
MAKE: tuple[Change, ...] = (
    (
        "same-password",
        "random | keep",
        "echo word | keep",
        "Compose's passwords are random and private",
    ),
    ("overwriting", '[ ! -e "$1" ]', "true", "Compose's passwords are random and private"),
    (
        "missing-key",
        "library_service_key webhook_url",
        "webhook_url",
        "what Compose names is there",
    ),
)
INIT: tuple[Change, ...] = (
    (
        "any-database",
        r"\`collection\\_dagster\`.*",
        r"\`collection_dagster\`.*",
        "Compose's accounts are narrow",
    ),
    ("quotes", "'' | *[!A-Za-z0-9._~-]*", "''", "Compose's accounts are narrow"),
)
CONFIGURATION: tuple[Change, ...] = (
    (
        "no-manifest",
        "kind: ConfigMap\nmetadata:\n  name: collection-settings",
        "kind: ConfigMap\nmetadata: [\n  name: collection-settings",
        "the file can be read",
    ),
    (
        "run-killed",
        "terminationGracePeriodSeconds: 120",
        "terminationGracePeriodSeconds: 20",
        "Kubernetes' pods may end slowly",
    ),
    ("run-repeated", "backoffLimit: 0", "backoffLimit: 3", "Kubernetes' pods may end slowly"),
    ("run-root", "runAsNonRoot: true", "runAsNonRoot: false", "Kubernetes' pods are confined"),
    (
        "run-token",
        "automountServiceAccountToken: false",
        "automountServiceAccountToken: true",
        "Kubernetes' rights are narrow",
    ),
    (
        "run-image",
        "job_image: collection-pipeline:0.2.0",
        "job_image: collection-pipeline:0.0.9",
        "Kubernetes' images are pinned",
    ),
    (
        "run-greedy",
        'limits: {cpu: "1", memory: 1Gi}',
        'limits: {cpu: "1"}',
        "Kubernetes' resources are bounded",
    ),
    (
        "few-slots",
        "max_concurrent_runs: 9",
        "max_concurrent_runs: 5",
        "Dagster reads Kubernetes' files",
    ),
    (
        "other-home",
        "DAGSTER_HOME: /etc/dagster",
        "DAGSTER_HOME: /tmp",
        "Dagster reads Kubernetes' files",
    ),
    (
        "no-service",
        "host: collection-code-server",
        "host: code-server",
        "Kubernetes' schedules are in one place",
    ),
    (
        "value",
        "COLLECTION_WEBHOOK_URL_FILE: /run/secrets/collection/webhook-url",
        "COLLECTION_WEBHOOK_URL: https://hook",
        "Kubernetes' secrets are files",
    ),
    (
        "other-space",
        "job_namespace: collection",
        "job_namespace: default",
        "what the manifests name is there",
    ),
)
ACCESS: tuple[Change, ...] = (
    (
        "reads-secrets",
        "resources: [events]",
        "resources: [events, secrets]",
        "Kubernetes' rights are narrow",
    ),
    (
        "any-verb",
        "verbs: [create, delete, get, list, watch]",
        'verbs: ["*"]',
        "Kubernetes' rights are narrow",
    ),
    (
        "any-peer",
        "values: [daemon, webserver]",
        "values: [daemon, webserver, operations]",
        "Kubernetes' code server is walled",
    ),
)
DAEMON: tuple[Change, ...] = (
    ("two-daemons", "replicas: 1", "replicas: 2", "Kubernetes runs every process once"),
    ("overlapping", "type: Recreate", "type: RollingUpdate", "Kubernetes runs every process once"),
    (
        "strange-field",
        "enableServiceLinks: false",
        "enableServiceLink: false",
        "the manifests follow Kubernetes' schema",
    ),
    (
        "unwatched",
        "          livenessProbe:",
        "          readinessProbe:",
        "Kubernetes' pods are watched",
    ),
)
OPERATIONS: tuple[Change, ...] = (
    (
        "restarting",
        "          livenessProbe:\n            tcpSocket:\n",
        "          livenessProbe:\n            httpGet:\n              path: /healthz\n",
        "Kubernetes' pods are watched",
    ),
    (
        "no-such-command",
        '"operations", "--host"',
        '"operation", "--host"',
        "Kubernetes' commands are real",
    ),
)
SHARED: tuple[Change, ...] = (
    ("misspelt", "ProtectHome=yes", "ProtectHomes=yes", "systemd has no complaint"),
    ("as-root", "User=collection", "User=root", "systemd's services are confined"),
    ("core-dump", "LimitCORE=0", "LimitCORE=infinity", "systemd's services are confined"),
    (
        "exposed",
        "CapabilityBoundingSet=\n",
        "CapabilityBoundingSet=~\n",
        "systemd's services are confined",
    ),
    ("killed", "TimeoutStopSec=120", "TimeoutStopSec=10", "systemd's services may end slowly"),
    ("untold", "KillMode=control-group", "KillMode=mixed", "systemd's services may end slowly"),
    (
        "in-environment",
        "Environment=COLLECTION_WEBHOOK_URL_FILE=%d/webhook_url",
        "Environment=COLLECTION_WEBHOOK_URL=https://hook",
        "systemd's secrets are credentials",
    ),
)
SERVICE: tuple[Change, ...] = (
    ("no-pause", "RestartSec=10\n", "", "systemd's services are restarted"),
    ("development", "dagster api grpc --m", "dagster dev --m", "systemd runs every process once"),
    ("other-port", "--port 4000", "--port 4001", "systemd's schedules are in one place"),
)

HOST_CHANGES: dict[str, tuple[Change, ...]] = {
    "compose/compose.yaml": COMPOSE,
    "compose/dagster.yaml": DAGSTER,
    "compose/dagster-docker.yaml": DOCKER,
    "compose/workspace-hosts.yaml": HOSTS,
    "compose/make-secrets.sh": MAKE,
    "compose/mysql-init.sh": INIT,
    "kubernetes/configuration.yaml": CONFIGURATION,
    "kubernetes/access.yaml": ACCESS,
    "kubernetes/daemon.yaml": DAEMON,
    "kubernetes/operations.yaml": OPERATIONS,
    "systemd/collection-.service.d/10-shared.conf": SHARED,
    "systemd/collection-code-server.service": SERVICE,
}
