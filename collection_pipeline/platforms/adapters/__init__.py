"""What each platform's wire looks like: requests from positions, pages from replies."""
