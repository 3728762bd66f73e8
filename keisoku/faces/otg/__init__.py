"""The Open Traffic Generator API on keisoku's engines: the only folder that knows OTG. Only the command imports it."""
