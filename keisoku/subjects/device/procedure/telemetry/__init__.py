"""Whether what a device exports about its traffic is true."""
