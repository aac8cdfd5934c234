#!/usr/bin/env bash
# Makes the Python environment named by $1 from the lock file, with mainstem in it as an editable install.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1

find_python() {
  local candidate
  for candidate in "${PYTHON_FOR_VENV:-}" python3 python3.14 python3.13 python3.12 python3.11; do
    [[ -n $candidate ]] && command -v "$candidate" >/dev/null || continue
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(not sys.version_info >= (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

if ! python=$(find_python); then
  if command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
    apt-get update -qq
    apt-get install -y -qq python3 python3-venv >/dev/null
  fi
  python=$(find_python) || {
    echo "error: mainstem needs Python 3.11 or newer with venv; install it (Debian: python3-venv) and run again" >&2
    exit 1
  }
fi

if [[ ! -x $venv/bin/python ]] || ! "$venv/bin/python" -c '' 2>/dev/null; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi
echo "setting up $venv with $("$venv/bin/python" --version)"
# The tests run the compiled twins too; without a compiler all else works.
if ! command -v cc >/dev/null && command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends gcc libc6-dev python3-dev >/dev/null || true
fi
"$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.lock
"$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
