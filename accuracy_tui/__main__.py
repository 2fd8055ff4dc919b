"""``python -m accuracy_tui`` is ``accuracy-tui``."""

from accuracy_tui.cli import main

main()
