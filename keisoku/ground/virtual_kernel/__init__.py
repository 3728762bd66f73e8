"""A real Linux kernel in virtual time: User-Mode Linux, whose clock moves on only when everything in it waits."""
