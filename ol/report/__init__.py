"""Renderers: a result in, text out. Nothing here runs or reads anything."""
