"""Calls in forked children of one server process: however a child ends, the caller gets a value."""
