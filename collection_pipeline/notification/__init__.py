"""Telling people: messages, their forms, and the webhook that carries them."""
