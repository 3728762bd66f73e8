"""Test frames as bytes: header stacks by Scapy, payloads that sum to zero, variants. Nothing here sends.

Scapy is loaded only when a stack is parsed.
"""
