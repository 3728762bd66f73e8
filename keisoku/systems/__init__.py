"""Real systems in the form in which they are searched and governed (keisoku/application/system.py).

They set limits by `keisoku/shaping`, and observe nothing but what passes the switch.
"""
