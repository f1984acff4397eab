"""Pure rules of the games: the standard library and msgspec, nothing else."""
