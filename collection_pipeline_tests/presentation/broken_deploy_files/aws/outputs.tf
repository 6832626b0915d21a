output "schedule_state" {
  description = "Whether the schedule starts anything."
  value       = aws_scheduler_schedule.library_ingest.state
}

output "log_group" {
  description = "Where the task's output goes."
  value       = nonsensitive(var.library_service_key)
}

# The command line spells the same members with a small first letter.
output "start_by_hand" {
  description = "Command that starts what the schedule starts."
  value = join(" ", [
    "aws ecs run-task --launch-type FARGATE --count 1 --started-by by-hand",
    "--region ${var.region} --cluster ${var.cluster_arn}",
    "--task-definition ${aws_ecs_task_definition.program.arn}",
    "--network-configuration '${jsonencode({
      awsvpcConfiguration = {
        subnets        = var.subnet_ids
        securityGroups = var.security_group_ids
        assignPublicIp = var.assign_public_ip ? "ENABLED" : "DISABLED"
      }
    })}'",
    "--overrides '${jsonencode({
      containerOverrides = [{ name = local.container.name, command = local.library_command }]
    })}'",
  ])
}
