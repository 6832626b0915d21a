"""The public library register of data.go.kr (platforms.md section 5)."""
