"""The traffic of a configuration: what is sent, its states, and its interruptions."""
