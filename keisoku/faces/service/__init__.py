"""keisoku's own paths of the server (`/keisoku/v1`): runs of methods, and results that OTG has no call for. It does not
depend on OTG."""
