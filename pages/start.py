"""Runs before every page: the side bar with the pages of the app, then the page that is open."""

from docmind.ui.pages import navigation

navigation.run()
