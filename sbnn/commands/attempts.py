"""What this machine has begun and finished of the nine experiments; results that came with a clone are not among it."""

import json
from dataclasses import dataclass
from pathlib import Path

from sbnn.files import write_text
from sbnn.runs.identity import code_hash, is_finished, settings_hash
from sbnn.runs.settings import RunSettings

DONE = "done"


@dataclass(frozen=True)
class Attempts:
    """The last attempt at each experiment, and how it went, in a file next to the results that is never committed."""

    results: Path

    @property
    def path(self) -> Path:
        return self.results / ".reproduced.json"

    def known(self) -> dict[str, dict]:
        try:
            return json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}

    def note(self, settings: RunSettings, status: str) -> None:
        attempt = {"mark": _mark(settings), "status": status}
        write_text(self.path, json.dumps(self.known() | {settings.name: attempt}, indent=2))

    def finished(self, settings: RunSettings) -> bool:
        return self._same(settings).get("status") == DONE and is_finished(self.results / settings.name, settings)

    def was_cut_off(self, settings: RunSettings) -> bool:
        """Or failed: a new attempt takes less time."""
        return not settings.force and self._same(settings).get("status", DONE) != DONE

    def _same(self, settings: RunSettings) -> dict:
        """The last attempt, if it was at this."""
        last = self.known().get(settings.name, {})
        return last if last.get("mark") == _mark(settings) else {}


def _mark(settings: RunSettings) -> list[str]:
    return [settings_hash(settings), code_hash(settings.name)]
