"""How many colours a terminal has."""

TRUE_COLOUR, PALETTE, SIXTEEN, NO_COLOUR = "truecolor", "256", "16", "none"
