"""The server's own page at `/`: runs, the running trial, a form that starts one, reports, comparison.

The server makes it. A small script of another project (htmx, which `setup.sh web` fetches) only exchanges parts of it,
and is not needed.
"""
