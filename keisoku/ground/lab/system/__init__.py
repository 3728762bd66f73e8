"""Systems in network namespaces: servers and clients around a switch."""
