"""Captures that are packed: tests/captures/ranks, tests/captures/training."""

import pathlib
import subprocess
import tarfile

CAPTURES = pathlib.Path(__file__).resolve().parents[1] / "captures"


def replay_packed(gpuprof, archive, name, profile):
    """Makes the profile of NAME.gpcap in CAPTURES/ARCHIVE.tar.xz, which is unpacked next to it."""
    profile = pathlib.Path(profile)
    capture = profile.parent / f"{name}.gpcap"
    with tarfile.open(CAPTURES / f"{archive}.tar.xz") as packed:
        capture.write_bytes(packed.extractfile(capture.name).read())
    subprocess.run([gpuprof, "replay", "-q", "-f", "-o", profile, capture], check=True, timeout=120)
    capture.unlink()
