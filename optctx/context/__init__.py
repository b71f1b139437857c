"""N1 and N2: contexts of option values, and the scopes that bind them to a thread."""
