"""IP capacity by UDP, as RFC 9097 defines it and UDPSTP (RFC 9946) measures it."""
