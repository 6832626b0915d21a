# Only for those who give the key as a variable. Made by hand, the parameter is merely named.

resource "aws_ssm_parameter" "library_service_key" {
  count = var.library_service_key_parameter_arn == null ? 1 : 0

  name        = "/${var.name}/library-service-key"
  description = "Key of the public library API of data.go.kr."
  type        = "String"
  key_id      = var.parameter_encryption_key_arn
  value       = var.library_service_key
}

locals {
  library_service_key_arn = (
    var.library_service_key_parameter_arn != null
    ? var.library_service_key_parameter_arn
    : aws_ssm_parameter.library_service_key[0].arn
  )
}
