"""Sentences for people without statistics."""
