"""Configurations for Hydra; BenchMARL's own are on the search path too."""
