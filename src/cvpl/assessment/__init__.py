"""One release judged: the checks before the attack, and the verdict after it."""
