"""Puts the image's parts together: decides what can be scoped, attaches to the library, reports."""
