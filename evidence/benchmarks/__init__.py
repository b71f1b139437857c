"""Small measurements, never tests: each says on what machine, against what, and how far it spreads."""
