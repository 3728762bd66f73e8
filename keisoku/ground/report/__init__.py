"""Layout: digits, tables, plots, the page, the terminal, CSV. Computes no figure and knows no domain."""
