#!/usr/bin/env bash
# A wheel for every Linux with glibc 2.28 or newer (manylinux_2_28), into python/dist (`make wheel`); zig from PyPI is the linker.
#   scripts/wheel.sh --check WHEEL   only looks into a wheel: no torch, CUDA or libpython is linked
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python3}"

# What the extension needs at run time is the C library alone; wheels tagged abi3 hold no symbol newer than glibc 2.28.
look() {
    local folder needed
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' RETURN
    "$python" -m zipfile -e "$1" "$folder"
    needed=$(readelf -d "$folder"/reynolds/_reynolds.abi3.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    echo "$1: $(du -h "$1" | cut -f1), needs" $needed
    if grep -vxE 'lib(c|m|gcc_s|dl|rt|pthread|util)\.so\.[0-9]+|ld-linux-.*' <<<"$needed"; then
        echo "$1: expected the C library alone among what the extension needs" >&2
        return 1
    fi
    local newest
    newest=$(readelf -V "$folder"/reynolds/_reynolds.abi3.so | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)
    if [ "$(printf '%s\n' GLIBC_2.28 "$newest" | sort -V | tail -1)" != GLIBC_2.28 ]; then
        echo "$1: expected symbols of glibc 2.28 or older, found $newest" >&2
        return 1
    fi
}

if [ "${1:-}" = --check ]; then
    look "$2"
    exit
fi

venv=.venv-python-wheel
[ -e "$venv/ready" ] || {
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install --quiet 'maturin[zig]>=1.9.4,<2'
    touch "$venv/ready"
}
rm -rf python/dist
export PATH="$PWD/$venv/bin:$PATH" # where maturin looks for zig
(cd python && maturin build --release --zig --compatibility manylinux_2_28 --out dist)
for wheel in python/dist/*.whl; do look "$wheel"; done
