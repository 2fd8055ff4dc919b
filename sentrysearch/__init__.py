"""SentrySearch finds moments in video footage from a sentence: footage to ranked hits.

Knows nothing of judging or of terminals. Importing it imports neither torch nor any embedder.
"""

__version__ = "0.1.0"
