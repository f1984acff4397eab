"""The archive: where finished matches are kept once the log has given them up."""
