"""Campaigns: many complete runs of devices, measurements and settings as one measurement."""
