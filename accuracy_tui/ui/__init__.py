"""The console: the only importer of Textual. ``app`` wires, the other modules each show one thing."""
