"""`python -m onepen`: the same program as the `onepen` command."""

from onepen.orchestrator.commands.app import main

if __name__ == "__main__":
    main()
