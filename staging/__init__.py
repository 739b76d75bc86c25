"""What a worker proposes, and whether it may stand: drafts, checks, diffs, verdicts."""
