"""Forward and reverse bandwidth of every hop, from single packets and their ICMP replies."""
