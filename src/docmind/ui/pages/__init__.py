"""What the scripts of the pages draw. The scripts are `pages` of a checkout, and `docmind/ui/scripts` of a wheel."""
