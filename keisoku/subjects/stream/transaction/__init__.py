"""Transactions: requests and their responses, over kept TCP connections, TCP connections of their own, or UDP."""
