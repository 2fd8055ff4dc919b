"""How many colours a terminal has."""

TRUE_COLOUR, PALETTE, NO_COLOUR = "truecolor", "256", "none"
