"""The IETF model of network testers over NETCONF, translated into configurations of OTG."""
