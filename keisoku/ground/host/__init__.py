"""What all measurements use of this machine: namespaces, interfaces, programs, connections to the far end."""
