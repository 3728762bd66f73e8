"""How clients reach the server: HTTP, gRPC and gNMI, and what it may do on the host."""
