"""Figures (Plotly) and tables (HTML) of what the pages show; all names are escaped."""
