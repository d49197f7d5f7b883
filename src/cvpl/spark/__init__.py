"""The audit on Apache Spark: tables stay in the cluster, and only figures and the fitted attacker leave it."""
