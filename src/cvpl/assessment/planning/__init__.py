"""The plan of an audit: how long it takes, how much memory and disk it needs, and how far it has come."""
