"""Folders that processes share, whose content counts as hostile."""
