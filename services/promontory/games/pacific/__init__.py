"""Pacific: the card game of simultaneous secret choices for two to five players, rules `pacific/1`."""
