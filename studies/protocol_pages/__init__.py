"""results.md and claims.md in docs/results, made from digests of runs by the library's code."""
