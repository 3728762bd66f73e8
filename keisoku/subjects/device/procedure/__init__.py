"""Procedures, one a file, in a folder for each document that describes them."""
