"""What the tester adds by itself: kept, chosen and subtracted."""
