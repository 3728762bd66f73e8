"""What keisoku exchanges with other programs: histograms, and results that others have published."""
