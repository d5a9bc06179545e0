import sys
from types import SimpleNamespace

import pytest

from sbnn.commands import run


@pytest.fixture
def called(tmp_path, monkeypatch, capsys):
    """A command, in this process and a folder of its own: called("-m", ...) gives its exit code and what it said."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments, main=run.main):
        monkeypatch.setattr(sys, "argv", ["sbnn-run", *arguments, "progress=false", "threads=1"])
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code or 0
        return SimpleNamespace(code=code, **capsys.readouterr()._asdict())

    return call
