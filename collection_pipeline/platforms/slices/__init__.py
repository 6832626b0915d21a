"""One slice: list pages and details within their budgets, alike for all platforms (R19 to R24)."""
