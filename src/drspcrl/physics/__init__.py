"""MuJoCo's parameters, batches of simulations and their seeded streams; it knows no task."""
