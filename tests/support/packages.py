"""Where scripts/setup puts the Python packages that tests use, for the processor of the Python that runs them."""

import pathlib
import platform

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TOOLS = SOURCE / (".aarch64/tools" if platform.machine() == "aarch64" else ".tools")
