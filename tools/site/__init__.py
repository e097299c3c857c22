"""The documentation as a site: the project's pages, and a reference of every public name.

`staging` copies the pages, `reference` writes the others, and Zensical makes HTML of them.
"""
