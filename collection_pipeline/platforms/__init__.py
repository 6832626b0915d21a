"""The platforms' wires: one request executor, one budgeted loop, one adapter for each platform."""
