"""Entry point of `python -m docmind`: the command line."""

from docmind.cli import main

main()
