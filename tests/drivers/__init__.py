"""Real Linux drivers in a virtual machine: the guest, what runs in it, and the cases."""
