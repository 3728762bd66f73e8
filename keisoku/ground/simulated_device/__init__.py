"""Simulated devices: how one is described, and those that come with keisoku. The core carries them out."""
