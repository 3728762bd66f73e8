"""What is measured: devices, paths, streams, lines, systems and clocks."""
