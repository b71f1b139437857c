"""Random programs on threads for as long as one likes."""
