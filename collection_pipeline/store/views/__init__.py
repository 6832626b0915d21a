"""Reads for people and monitors: plain, bounded, without a lock."""
