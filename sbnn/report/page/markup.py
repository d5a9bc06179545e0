"""The few marks of a text, in HTML."""

import re
from html import escape


def marked_up(text: str) -> str:
    """Code, strong and plain emphasis, and links of a text."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    text = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)
    text = re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", text)
    return re.sub(r"\[([^\]]+)\]\(((?:https?://|#)[^\s)]+)\)", r'<a href="\2">\1</a>', text)
