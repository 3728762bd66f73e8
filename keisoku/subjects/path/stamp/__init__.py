"""Delay with STAMP (RFC 8762), and a reflector."""
