"""The page, as blocks that are rendered in Markdown and in HTML."""
