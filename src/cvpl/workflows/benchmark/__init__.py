"""Every release that manifests describe, in one leaderboard."""
