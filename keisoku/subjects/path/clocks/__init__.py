"""One path measured by different sources of time, and the share of the clock in the result."""
