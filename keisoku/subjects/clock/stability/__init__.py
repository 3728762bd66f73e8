"""How stable a clock is: its log, and deviations from ADEV to MTIE."""
