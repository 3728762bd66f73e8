"""Test frames as bytes: header stacks by Scapy, payloads that sum to zero, variants. It sends nothing.

Scapy is loaded only when a stack is parsed.
"""
