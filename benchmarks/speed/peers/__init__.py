"""keisoku against other senders: the senders, the neutral observer, and the comparisons. Nothing here is shipped."""
