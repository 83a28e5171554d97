#!/usr/bin/env bash
# Builds the environments of the programs we compare with and take golden tensors from, beside this file:
#   .venv           torch, escnn, e3nn, symm-learning, scikit-image: 4.9 GB, one to four minutes
#   .venv-emlp      EMLP with JAX, which want another numpy; scikit-learn, beside which escnn breaks: 0.9 GB
#   .venv-phiflow   PhiFlow 2.1.4, which wants an older numpy: 0.3 GB
# One that is there and imports is left alone. Only the first must succeed: for another that fails the reason is printed, and its rows say so.
#   PYTHON=python3.11 peers/setup.sh    another interpreter (3.10 to 3.12: numpy 1.26 and lie_learn have no wheels for others, PhiFlow up to 3.11)
set -uo pipefail
here="$(cd "$(dirname "$0")" && pwd)"

# works NAME 'imports': does the environment import what it is for? What Python says goes to standard output.
works() { "$here/$1/bin/python" -W ignore -c "import $2" 2>&1; }

# environment NAME 'imports' PIP-ARGUMENTS [-- PIP-ARGUMENTS]: builds it unless it works.
environment() {
    local name="$1" imports="$2" log reason
    shift 2
    if [ -x "$here/$name/bin/python" ] && works "$name" "$imports" >/dev/null; then
        echo "peers/$name is ready"
        return 0
    fi
    log="$(mktemp)"
    if "${PYTHON:-python3}" -m venv "$here/$name" >"$log" 2>&1 && install "$name" "$@" >>"$log" 2>&1 && works "$name" "$imports" >>"$log"; then
        echo "peers/$name is ready"
        rm -f "$log"
        return 0
    fi
    reason="$(grep -i error "$log" | tail -1)"
    echo "peers/$name could not be built: ${reason:-$(tail -1 "$log")} (all of it: $log)" >&2
    return 1
}

# One pip for the arguments before each --.
install() {
    local name="$1" arguments=()
    shift
    for argument in "$@" --; do
        if [ "$argument" = -- ]; then
            "$here/$name/bin/pip" install --quiet --disable-pip-version-check "${arguments[@]}" || return 1
            arguments=()
        else
            arguments+=("$argument")
        fi
    done
}

environment .venv "torch, escnn.nn, e3nn.o3, symm_learning, scipy, safetensors, skimage" \
    --only-binary=:all: --requirement "$here/requirements.txt" -- --no-deps --requirement "$here/requirements-no-deps.txt" || exit 1
environment .venv-emlp "emlp.groups, emlp.reps, sklearn.metrics, safetensors" --requirement "$here/requirements-emlp.txt"
environment .venv-phiflow "phi.flow" --requirement "$here/requirements-phiflow.txt"
exit 0
