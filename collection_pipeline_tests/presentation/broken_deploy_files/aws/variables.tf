# Everything that differs between accounts. Nothing here is a secret by default.

variable "region" {
  description = "Region of the cluster, the parameters and the schedule."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region is a name such as ap-northeast-2."
  }
}

variable "name" {
  description = "Prefix of every name that is created here; also the family of the task definition."
  type        = string
  default     = "collection-pipeline"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,30}$", var.name))
    error_message = "name has 3 to 31 lower-case letters, digits and hyphens, and begins with a letter."
  }
}

variable "schedule_state" {
  description = "The one switch of the schedule. ENABLED only after the order of activation in README.md."
  type        = string
  default     = "ENABLED"

  validation {
    condition     = contains(["ENABLED", "DISABLED"], var.schedule_state)
    error_message = "schedule_state is ENABLED or DISABLED."
  }
}

variable "cluster_arn" {
  description = "ECS cluster in which the task runs."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:ecs:[a-z0-9-]+:[0-9]+:cluster/.+$", var.cluster_arn))
    error_message = "cluster_arn is the full ARN of an ECS cluster."
  }
}

variable "subnet_ids" {
  description = "Subnets of the task. They reach the database, api.data.go.kr, SSM, the logs and the image."
  type        = list(string)

  validation {
    condition     = length(var.subnet_ids) > 0 && alltrue([for id in var.subnet_ids : startswith(id, "subnet-")])
    error_message = "subnet_ids names at least one subnet."
  }
}

variable "security_group_ids" {
  description = "Security groups of the task. No inbound rule is needed."
  type        = list(string)

  validation {
    condition     = length(var.security_group_ids) > 0 && alltrue([for id in var.security_group_ids : startswith(id, "sg-")])
    error_message = "security_group_ids names at least one security group."
  }
}

variable "assign_public_ip" {
  description = "true only for subnets that have no NAT gateway."
  type        = bool
  default     = false
}

variable "image" {
  description = "Image built from deploy/Dockerfile, with a fixed tag or a digest."
  type        = string

  validation {
    condition     = can(regex("(@sha256:[0-9a-f]{64}|:[A-Za-z0-9._-]+)$", var.image)) && !endswith(var.image, ":latest")
    error_message = "image has a fixed tag or a digest, never :latest."
  }
}

variable "image_repository_arn" {
  description = "ECR repository that the image comes from; null for a registry that needs no login."
  type        = string
  default     = null

  validation {
    condition     = var.image_repository_arn == null || can(regex("^arn:aws:ecr:[a-z0-9-]+:[0-9]+:repository/.+$", var.image_repository_arn))
    error_message = "image_repository_arn is the full ARN of an ECR repository."
  }
}

variable "cpu" {
  description = "CPU units of the task; 256 are a quarter of a core."
  type        = number
  default     = 256

  validation {
    condition     = contains([256, 512, 1024], var.cpu)
    error_message = "cpu is 256, 512 or 1024."
  }
}

variable "memory" {
  description = "Memory of the task in MiB."
  type        = number
  default     = 1024

  validation {
    condition     = contains([1024, 2048], var.memory)
    error_message = "memory is 1024 or 2048, which each allowed cpu takes."
  }
}

variable "log_retention_days" {
  description = "Days that the task's output is kept."
  type        = number
  default     = 90

  validation {
    condition     = contains([30, 60, 90, 180, 365], var.log_retention_days)
    error_message = "log_retention_days is 30, 60, 90, 180 or 365."
  }
}

variable "database_url_parameter_arn" {
  description = "SSM SecureString that holds COLLECTION_DATABASE_URL; made by hand."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:ssm:[a-z0-9-]+:[0-9]+:parameter/.+$", var.database_url_parameter_arn))
    error_message = "database_url_parameter_arn is the full ARN of an SSM parameter."
  }
}

variable "library_service_key_parameter_arn" {
  description = "SSM SecureString that holds the data.go.kr key; made by hand, so that the state never sees the key."
  type        = string
  default     = null

  validation {
    condition     = var.library_service_key_parameter_arn == null || can(regex("^arn:aws:ssm:[a-z0-9-]+:[0-9]+:parameter/.+$", var.library_service_key_parameter_arn))
    error_message = "library_service_key_parameter_arn is the full ARN of an SSM parameter."
  }

  validation {
    condition     = (var.library_service_key_parameter_arn == null) != (var.library_service_key == null)
    error_message = "Give either library_service_key_parameter_arn or library_service_key."
  }
}

# No validation: Terraform shows the value that it refuses, also of a sensitive variable. The program
# refuses a malformed key without showing it.
variable "library_service_key" {
  description = "The data.go.kr key itself, the second best way: its value is then readable in the state."
  type        = string
  default     = null
  sensitive   = true
}

variable "parameter_encryption_key_arn" {
  description = "KMS key of the parameters; null for the account's own aws/ssm key."
  type        = string
  default     = null

  validation {
    condition     = var.parameter_encryption_key_arn == null || can(regex("^arn:aws:kms:[a-z0-9-]+:[0-9]+:key/.+$", var.parameter_encryption_key_arn))
    error_message = "parameter_encryption_key_arn is the full ARN of a KMS key."
  }
}

variable "dead_letter_queue_arn" {
  description = "SQS queue for starts that failed for good; null for none."
  type        = string
  default     = null

  validation {
    condition     = var.dead_letter_queue_arn == null || can(regex("^arn:aws:sqs:[a-z0-9-]+:[0-9]+:.+$", var.dead_letter_queue_arn))
    error_message = "dead_letter_queue_arn is the full ARN of an SQS queue."
  }
}
