"""What a result answers: the figure that counts, the scale it is read on, recommendations, and what a column does."""
