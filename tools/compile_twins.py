"""Compiles the typed twins of hot inner loops while the package is built, where that is possible.

Hatchling calls `CompileTwins` for wheels and for editable installs. Without Cython or a compiler the
package is complete all the same: each twin has a pure Python module that does the same, slower.
MAINSTEM_COMPILE says otherwise: `never` builds without, `require` fails instead of going without.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TWINS = ("mainstem.log._offset_map", "mainstem.model._column_builder", "mainstem.model._row_packer")
CHOICES = ("auto", "never", "require")


class CompileTwins(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        choice = os.environ.get("MAINSTEM_COMPILE", "auto")
        if choice not in CHOICES:
            raise ValueError(f"MAINSTEM_COMPILE is {choice!r}; it can be {', '.join(CHOICES)}")
        if choice == "never":
            return
        self._work = Path(tempfile.mkdtemp(prefix="mainstem-twins-"))
        try:
            built = {module: compiled(Path(self.root), module, self._work) for module in TWINS}
        except (Exception, SystemExit) as error:  # whatever a compiler or its absence brings up
            if choice == "require":
                raise
            self.app.display_warning(f"without compiled modules, pure Python instead: {error}")
            return
        if version == "editable":
            for module, path in built.items():
                place(path, Path(self.root, "src", *module.split(".")[:-1]))
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        for module, path in built.items():
            build_data["force_include"][str(path)] = "/".join((*module.split(".")[:-1], path.name))

    def finalize(self, _version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        shutil.rmtree(getattr(self, "_work", ""), ignore_errors=True)


def compiled(root: Path, module: str, work: Path) -> Path:
    """The shared object of `module`, built below `work`."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension

    source = root.joinpath("src", *module.split(".")).with_suffix(".pyx")
    extension = Extension(module, [str(source)], extra_compile_args=["-O3", "-g0"])
    modules = cythonize([extension], build_dir=str(work / "c"), quiet=True, language_level=3)
    distribution = Distribution({"name": "mainstem-twins", "ext_modules": modules})
    command: Any = distribution.get_command_obj("build_ext")
    command.build_lib = str(work / "lib")
    command.build_temp = str(work / "temp")
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(module))


def place(path: Path, directory: Path) -> None:
    """Puts it there in one step, for a process may have the old one open."""
    fresh = directory / f".{path.name}.{os.getpid()}"
    shutil.copy2(path, fresh)
    fresh.replace(directory / path.name)
