"""`python -m docmind` is the command line."""

from docmind.cli import main

main()
