"""The table of all measurements, and how an entry of it is carried out."""
