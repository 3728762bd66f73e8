"""What a NAT or firewall on the path does with UDP: how it maps, what it lets in, and for how long."""
