"""HTTP load from one or many client hosts at once, by ApacheBench or keisoku's own client, and what each of them saw.

It asks and counts. It sets no limit and knows nothing of who governs.
"""
