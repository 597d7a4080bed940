"""Training a whole population at once: every desired diversity and seed in one batch."""
