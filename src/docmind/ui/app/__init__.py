"""Components that all pages share: open vault, page frame, access guard, page views, formats."""
