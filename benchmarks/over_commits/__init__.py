"""Benchmarks that asv runs over commits: `asv run`, `asv publish`."""
