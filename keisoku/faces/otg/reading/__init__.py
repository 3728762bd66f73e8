"""Documents of OTG, in which each field must be read or is refused. Knows no meaning."""
