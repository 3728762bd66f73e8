"""What every subject stands on: runs, reports, statistics, frames, labs, the host and the FPGA's host side."""
