"""Real clients, as published, through a tool loop against real servers: `make clients`."""
