#!/usr/bin/env bash
# Builds peers/.venv with the programs we compare with and take golden tensors from. About 5 GB, one to four minutes.
#   peers/setup.sh            build it, unless it is there and imports
#   PYTHON=python3.11 ...     another interpreter (3.10 to 3.12: numpy 1.26 and lie_learn have no wheels for others)
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
venv="$here/.venv"
works() {
    "$venv/bin/python" -W ignore -c 'import torch, escnn.nn, e3nn.o3, symm_learning, scipy, safetensors, skimage' 2>/dev/null
}
if [ -x "$venv/bin/python" ] && works; then
    echo "peers/.venv is ready"
    exit 0
fi
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --only-binary=:all: --requirement "$here/requirements.txt"
"$venv/bin/pip" install --quiet --no-deps --requirement "$here/requirements-no-deps.txt"
works || { echo "peers/.venv was built but its packages do not import; run the import line of $0 to see why" >&2; exit 1; }
echo "peers/.venv is ready"
