"""A MySQL server of the project's own: found, unpacked, started and stopped without root."""
