"""What tests share: devices, paths and clocks of known truth, programs to talk to, and trials that repeat."""
