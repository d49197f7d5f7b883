"""What an attacker learns of a sensitive column: beliefs, guesses, and their scores on originals and controls."""
