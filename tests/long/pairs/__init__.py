"""Pairs of compilations that differ in their options: equal fingerprints must mean equal output."""
