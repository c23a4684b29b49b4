"""What the ancestors' folders hold, in Windlass's own words: files to write, and what was left.

Pure: who opens and writes the files is `windlass.project`.
"""
