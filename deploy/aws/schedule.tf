# The templated ECS target of the scheduler cannot override a container's command, so the universal
# target calls RunTask itself. Its input takes the SDK's member names, which begin with a capital.

locals {
  library_command = ["ingest", "--source", "library", "--deactivate-stale", "--trigger", "external"]

  run_task_input = {
    Cluster              = var.cluster_arn
    TaskDefinition       = aws_ecs_task_definition.program.arn
    LaunchType           = "FARGATE"
    Count                = 1
    EnableExecuteCommand = false
    StartedBy            = "library-ingest-schedule"
    NetworkConfiguration = {
      AwsvpcConfiguration = {
        Subnets        = var.subnet_ids
        SecurityGroups = var.security_group_ids
        AssignPublicIp = var.assign_public_ip ? "ENABLED" : "DISABLED"
      }
    }
    Overrides = {
      ContainerOverrides = [
        {
          Name    = local.container.name
          Command = local.library_command
        },
      ]
    }
  }
}

resource "aws_scheduler_schedule_group" "library" {
  name = "${var.name}-library"
}

resource "aws_scheduler_schedule" "library_ingest" {
  name        = "${var.name}-library-ingest"
  description = "Monthly ingest of public libraries from data.go.kr."
  group_name  = aws_scheduler_schedule_group.library.name
  state       = var.schedule_state

  schedule_expression          = "cron(0 4 1 * ? *)"
  schedule_expression_timezone = "Asia/Seoul"

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = "arn:aws:scheduler:::aws-sdk:ecs:runTask"
    role_arn = aws_iam_role.scheduler.arn
    input    = jsonencode(local.run_task_input)

    # Repeats the call that starts the task, never the ingest: the scheduler does not see exit codes.
    # Two are enough for a throttled call. Should a lost answer start two tasks, the lock in the
    # database lets one of them work. After an hour the start is given up, not made at a busy time.
    retry_policy {
      maximum_retry_attempts       = 2
      maximum_event_age_in_seconds = 3600
    }

    dynamic "dead_letter_config" {
      for_each = var.dead_letter_queue_arn == null ? [] : [var.dead_letter_queue_arn]

      content {
        arn = dead_letter_config.value
      }
    }
  }
}
