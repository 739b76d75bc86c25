"""`python -P -m onepen.subagents`: one worker, spoken to over stdin and stdout (see wire.py)."""

import sys

from onepen.subagents.worker import main

if __name__ == "__main__":
    sys.exit(main())
