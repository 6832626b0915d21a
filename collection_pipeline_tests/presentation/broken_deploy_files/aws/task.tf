# One task definition for every one-shot command of the program. What runs is said at the start, so
# the schedule and a start by hand differ in nothing but who asked.

locals {
  container = {
    name      = "collection-pipeline"
    image     = var.image
    essential = true
    # Without an override the task looks and changes nothing.
    command = ["check"]
    # No secret belongs here: the definition is readable by whoever may describe it.
    environment = [{ name = "COLLECTION_LIBRARY_SERVICE_KEY", value = "given in the clear" }]
    secrets = [
      {
        name      = "COLLECTION_DATABASE_URL"
        valueFrom = var.database_url_parameter_arn
      },
      {
        name      = "COLLECTION_LIBRARY_SERVICE_KEY"
        valueFrom = local.library_service_key_arn
      },
    ]
    user                   = "10001:10001"
    readonlyRootFilesystem = true
    # Pages are spooled here before anything is written. The image declares the same path as a volume,
    # since Fargate mounts other paths writable for root alone.
    mountPoints = [
      {
        sourceVolume  = "tmp"
        containerPath = "/tmp"
        readOnly      = false
      },
    ]
    linuxParameters = {
      initProcessEnabled = true
      capabilities = {
        drop = ["ALL"]
      }
    }
    # Longer than one request's deadline, so that SIGTERM ends the run well.
    stopTimeout = 60
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.program.name
        awslogs-region        = var.region
        awslogs-stream-prefix = "task"
      }
    }
  }
}

resource "aws_cloudwatch_log_group" "program" {
  name              = "/ecs/${var.name}"
  retention_in_days = var.log_retention_days
}

# There is no task role: the program calls no AWS service, and without one `ecs execute-command`
# cannot open a shell that would show the environment.
resource "aws_ecs_task_definition" "program" {
  family                   = var.name
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = var.cpu
  memory                   = var.memory
  execution_role_arn       = aws_iam_role.execution.arn
  container_definitions    = jsonencode([local.container])

  volume {
    name = "tmp"
  }
}
