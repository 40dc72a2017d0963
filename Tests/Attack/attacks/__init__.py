"""The attacks, by what they aim at."""
