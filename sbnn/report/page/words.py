"""What the page says besides its numbers."""

from pathlib import Path

import yaml

WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text("utf-8"))
