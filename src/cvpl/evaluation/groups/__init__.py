"""Groups of people: rates by subgroup, rarity deciles, suppression of small counts, clusters."""
