"""What this machine has begun and finished of the nine experiments; results that came with a clone are not among it."""

import json
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig

from sbnn.runs.identity import code_hash, config_hash, finished
from sbnn.runs.rows import write_text

DONE = "done"


@dataclass(frozen=True)
class Memory:
    """In a file beside the results that is never committed: the last attempt at each experiment, and how it went."""

    results: Path

    @property
    def path(self) -> Path:
        return self.results / ".reproduced.json"

    def known(self) -> dict[str, dict]:
        try:
            return json.loads(self.path.read_text())
        except (OSError, ValueError):
            return {}

    def note(self, cfg: DictConfig, status: str) -> None:
        write_text(self.path, json.dumps(self.known() | {cfg.name: {"mark": _mark(cfg), "status": status}}, indent=2))

    def finished(self, cfg: DictConfig) -> bool:
        return self._same(cfg).get("status") == DONE and finished(self.results / cfg.name, cfg)

    def was_cut_off(self, cfg: DictConfig) -> bool:
        """Or failed: its checkpoints are good."""
        return not cfg.force and self._same(cfg).get("status", DONE) != DONE

    def _same(self, cfg: DictConfig) -> dict:
        """The last attempt, if it was at this."""
        last = self.known().get(cfg.name, {})
        return last if last.get("mark") == _mark(cfg) else {}


def _mark(cfg: DictConfig) -> list[str]:
    return [config_hash(cfg), code_hash()]
