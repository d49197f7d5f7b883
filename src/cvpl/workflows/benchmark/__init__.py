"""The benchmark workflow: audits all releases of the manifests and ranks them in one leaderboard."""
