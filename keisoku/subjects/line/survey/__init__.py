"""A subscriber's line in one minute: rates, latency idle and loaded, loss, order, longest packet, queue, clocks."""
