"""Slopes of every hop and of what lies between hops, with their intervals, from minimum round trips."""
