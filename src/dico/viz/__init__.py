"""Figures, maps, videos and the report page, made from run folders alone."""
