"""The DHCP clients and servers of devices: dhcpcd asks and Kea serves, by what is translated here."""
