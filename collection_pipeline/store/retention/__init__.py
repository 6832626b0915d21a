"""What lets the queue's tables go on for years: one policy a module, in bounded chunks."""
