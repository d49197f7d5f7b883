"""Statistics of a trial: a mechanism run for several rounds, each with other people in and out."""
