#!/usr/bin/env bash
# Builds the Python package into a virtual environment with torch (`make test-python`) and runs its tests.
#   REYNOLDS_TORCH=skip   without torch: only what works without it
set -euo pipefail
cd "$(dirname "$0")/.."
version="$1" torchvision="$2" python="${PYTHON:-python3}"
wanted=(numpy pytest)
venv=.venv-python
if [ "${REYNOLDS_TORCH:-}" = skip ]; then
    venv=.venv-python-without-torch
else
    wanted+=("torch==$version" "torchvision==$torchvision" lightning transformers accelerate scikit-learn mypy)
fi
quiet=()
[ -t 2 ] || quiet=(--quiet)
[ -e "$venv/ready" ] || {
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install "${quiet[@]}" "${wanted[@]}"
    touch "$venv/ready"
}
# Built to be there soon, not to be fast.
MATURIN_PEP517_ARGS="--profile quick" "$venv/bin/pip" install "${quiet[@]}" --force-reinstall --no-deps ./python
# From a folder in which `import reynolds` finds what was installed, not the sources.
cd "$venv"
exec bin/pytest -q -p no:cacheprovider ../python/tests
