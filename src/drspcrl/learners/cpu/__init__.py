"""What only makes a CPU fast; the algorithms are the same without it."""
