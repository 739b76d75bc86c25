"""`python -m orchestrator` from the repository, and `python -m onepen.orchestrator`: the same as `onepen`."""

from onepen.orchestrator.commands.app import main

if __name__ == "__main__":
    main()
