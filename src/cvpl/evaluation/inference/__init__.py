"""What an attacker learns of a secret column: beliefs, guesses, and their scores on originals and controls."""
