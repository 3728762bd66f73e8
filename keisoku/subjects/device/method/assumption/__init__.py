"""What procedures take for granted of a device, and what their own trials show to be otherwise."""
