"""Everything on disk: run folders and their tables, checkpoints, digests."""
