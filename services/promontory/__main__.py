"""`python -m promontory` is `promontory`."""

from promontory.cli import main

main()
