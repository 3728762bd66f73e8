"""What a network device does to every frame: plans, methods, engines, records, calibration."""
