"""Every measurement alike: the table of what there is, and how an entry of it is carried out."""
