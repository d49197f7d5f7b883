"""The command line: options in, exit codes out. A file holds the commands of one subject."""
