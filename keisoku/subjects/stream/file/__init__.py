"""Transfers of files and of their stages."""
