"""The sheet: the first screen of an audit's page, and its first page in print. It holds what a decision needs."""
