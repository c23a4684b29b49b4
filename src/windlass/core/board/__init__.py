"""The board: tasks in a Markdown file, what is wrong with it, which of them comes next.

Pure: who opens the file is `windlass.project`.
"""

FILE = "kanban.md"
"""What the board of a repository is called, in its `.windlass` folder."""
