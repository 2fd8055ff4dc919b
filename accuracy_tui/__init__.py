"""Measures how right SentrySearch's hits are: runs, pool, verdicts, metrics, table."""
