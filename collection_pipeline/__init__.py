"""Safe, bounded, unattended collection of job postings, with MySQL as the durable work queue."""
