"""The read-only operations service: API, health, metrics and page."""
