"""Customizable Reward Models."""
