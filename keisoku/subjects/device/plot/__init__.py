"""Plots of devices that several procedures draw, and the devices that are drawn."""
