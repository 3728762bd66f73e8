"""What every measurement asks of this machine: namespaces, interfaces, programs, the far end."""
