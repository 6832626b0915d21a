# Two roles. The scheduler's may start this one family in this one cluster. The execution role may
# fetch the image, read two parameters and write the log. The program itself has no role.

data "aws_iam_policy_document" "scheduler_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["scheduler.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.current.account_id]
    }

    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_scheduler_schedule_group.library.arn]
    }
  }
}

resource "aws_iam_role" "scheduler" {
  name               = "${var.name}-library-scheduler"
  assume_role_policy = data.aws_iam_policy_document.scheduler_trust.json
}

data "aws_iam_policy_document" "scheduler" {
  statement {
    sid       = "StartTheTask"
    actions   = ["ecs:RunTask"]
    resources = ["${aws_ecs_task_definition.program.arn_without_revision}:*"]

    condition {
      test     = "ArnEquals"
      variable = "ecs:cluster"
      values   = [var.cluster_arn]
    }
  }

  statement {
    sid       = "HandOverItsRole"
    actions   = ["iam:PassRole"]
    resources = [aws_iam_role.execution.arn]

    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["ecs-tasks.amazonaws.com"]
    }
  }

  dynamic "statement" {
    for_each = var.dead_letter_queue_arn == null ? [] : [var.dead_letter_queue_arn]

    content {
      sid       = "KeepFailedStarts"
      actions   = ["sqs:SendMessage"]
      resources = [statement.value]
    }
  }
}

resource "aws_iam_role_policy" "scheduler" {
  name   = "start-library-ingest"
  role   = aws_iam_role.scheduler.id
  policy = data.aws_iam_policy_document.scheduler.json
}

data "aws_iam_policy_document" "execution_trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.current.account_id]
    }
  }
}

resource "aws_iam_role" "execution" {
  name               = "${var.name}-execution"
  assume_role_policy = data.aws_iam_policy_document.execution_trust.json
}

data "aws_iam_policy_document" "execution" {
  statement {
    sid       = "ReadTheSecrets"
    actions   = ["ssm:GetParameters"]
    resources = [var.database_url_parameter_arn, local.library_service_key_arn]
  }

  statement {
    sid       = "WriteTheLog"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.program.arn}:*"]
  }

  dynamic "statement" {
    for_each = var.parameter_encryption_key_arn == null ? [] : [var.parameter_encryption_key_arn]

    content {
      sid       = "DecryptTheSecrets"
      actions   = ["kms:Decrypt"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = var.image_repository_arn == null ? [] : [var.image_repository_arn]

    content {
      sid       = "FetchTheImage"
      actions   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
      resources = [statement.value]
    }
  }

  dynamic "statement" {
    for_each = var.image_repository_arn == null ? [] : [var.image_repository_arn]

    content {
      # The one action here that knows no resource.
      sid       = "LogInToTheRegistry"
      actions   = ["ecr:GetAuthorizationToken"]
      resources = ["*"]
    }
  }
}

resource "aws_iam_role_policy" "execution" {
  name   = "run-collection-pipeline"
  role   = aws_iam_role.execution.id
  policy = data.aws_iam_policy_document.execution.json
}
