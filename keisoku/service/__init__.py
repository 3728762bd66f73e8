"""keisoku's own paths of the server (`/keisoku/v1`): runs of methods, and what OTG cannot say. Knows nothing of OTG."""
