"""How an entry of the table of measurements is carried out: once, repeated, compared, in campaigns and studies."""
