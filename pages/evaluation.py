"""The address that *Evaluation* had as a page of its own: it leads to the section of Settings."""

from docmind.ui.pages import navigation

navigation.go_to_evaluation()
