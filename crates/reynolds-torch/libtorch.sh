#!/usr/bin/env bash
# Puts libtorch into .libtorch at the root of the repository, whole or not at all: `make libtorch` and `make libtorch-cuda` call it.
#   libtorch.sh VERSION cpu     the library and the two small ones it asks for: 1.2 GB, half a minute
#   libtorch.sh VERSION cuda    with the CUDA libraries: several GB
#   PYTHON=python3.12 ...       another interpreter, for its pip
set -euo pipefail
version="$1" kind="$2" python="${PYTHON:-python3}"
cd "$(dirname "$0")/../.."

say() { echo "libtorch: $*" >&2; }
"$python" -m pip --version >/dev/null 2>&1 || {
    say "expected $python with pip (on Debian: python3-pip); or set LIBTORCH to the folder of a libtorch $version of your own"
    exit 1
}

wanted=("torch==$version")
if [ "$kind" = cpu ]; then
    # libtorch_cpu.so of this build asks for libcudart.so.13 and libcupti.so.13, and for no other part of CUDA.
    wanted=(--no-deps "${wanted[@]}" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85)
fi

part="$(mktemp -d .libtorch.XXXXXX)"
trap 'rm -rf "$part"' EXIT
trap 'exit 130' INT TERM
quiet=()
[ -t 2 ] || quiet=(--quiet)
install() {
    PIP_USER=0 PIP_ROOT_USER_ACTION=ignore "$python" -m pip install "${quiet[@]}" --only-binary=:all: --target "$part/tree" "$@"
}

say "downloading torch $version ($kind) with $python"
if ! install "${wanted[@]}"; then
    # A Python for which there is no build: the library itself does not depend on it.
    say "that failed; trying the build for Python 3.11, of which only the library is used"
    rm -rf "$part/tree"
    platforms=()
    for platform in manylinux_2_28 manylinux_2_27 manylinux_2_25 manylinux_2_17 manylinux2014; do
        platforms+=(--platform "${platform}_$(uname -m)")
    done
    this=(--ignore-requires-python --python-version 3.11 --implementation cp --abi cp311 --abi none "${platforms[@]}")
    install "${this[@]}" "${wanted[@]}" || {
        say "could not be downloaded: pip's message is above. Or set LIBTORCH to the folder of a libtorch $version of your own"
        exit 1
    }
fi
[ -e "$part/tree/torch/lib/libtorch_cpu.so" ] || { say "expected torch/lib/libtorch_cpu.so in what was downloaded, found none"; exit 1; }

touch "$part/tree/stamp-$version-cpu" "$part/tree/stamp-$version-$kind"
rm -rf .libtorch
mv "$part/tree" .libtorch
say "ready in .libtorch"
