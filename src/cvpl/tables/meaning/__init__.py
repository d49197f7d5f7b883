"""What the cells of a column mean: numbers, ranges, times, masks, groups of labels, and what is missing."""
