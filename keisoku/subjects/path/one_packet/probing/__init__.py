"""Which packets go to the hops of a path and when, by sockets or in virtual time, and what comes back."""
