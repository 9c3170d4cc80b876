"""The pages docs/results.md and docs/claims.md, made from digests of runs by the library's code."""
