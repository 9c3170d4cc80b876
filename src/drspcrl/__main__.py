"""`python -m drspcrl`, for a bundle that has no installed command."""

from drspcrl.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
