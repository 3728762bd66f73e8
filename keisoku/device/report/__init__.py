"""What a page shows of a device beside the tables that every result has."""
