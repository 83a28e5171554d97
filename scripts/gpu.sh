#!/usr/bin/env bash
# What is measured on a GPU, in two halves so that the machine with the GPU needs neither Rust nor a network:
#   scripts/gpu.sh pack         here: builds in release mode and puts the programs into carry/ (ignored by git)
#   scripts/gpu.sh run [OUT]    there: python3 with torch 2.11.0; runs them and leaves results in OUT (default results/gpu)
# A binary built against the libtorch of `make libtorch` runs there as it is: the CUDA libraries are opened at run time.
set -euo pipefail
cd "$(dirname "$0")/.."

pack() {
    rm -rf carry && mkdir -p carry
    cargo build --release -p reynolds-cli
    cp "${CARGO_TARGET_DIR:-target}"/release/reynolds{,-train} carry/
    cargo bench --no-run -p reynolds-torch --bench penalty --message-format=json |
        python3 -c 'import json, sys
for line in sys.stdin:
    found = json.loads(line)
    if found.get("executable") and found["target"]["name"] == "penalty":
        print(found["executable"])' | xargs -I{} cp {} carry/penalty
    strip carry/* || true
    git rev-parse HEAD > carry/commit
    ls -l carry
}

run() {
    out="${1:-results/gpu}"
    mkdir -p "$out"
    torch="$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent)')"
    LD_LIBRARY_PATH="$torch/lib:$(printf '%s:' "$torch"/../nvidia/*/lib)${LD_LIBRARY_PATH:-}"
    export LD_LIBRARY_PATH
    {
        echo "commit $(cat carry/commit)"
        python3 -c 'import torch; print("torch", torch.__version__, torch.cuda.get_device_name(0))'
        nvidia-smi --query-gpu=name,driver_version,clocks.sm,memory.total --format=csv,noheader
    } | tee "$out/machine.txt"
    # One program for both devices, and the same experiment on both.
    for device in cpu cuda:0; do
        carry/reynolds run so2 --device "$device" --runs "$out/runs" --set penalty.lambda_perp=0.1 --set seed=0
    done 2>&1 | sed "s#$out/##" | tee "$out/so2.txt"
    # The penalty on 72 convolutions 5x5 of 36 channels at 256 x 256 under C4: design bar max(0.5 %, 100 us).
    {
        carry/penalty --device cuda:0 --layers 72 --batch 4 --side 256 --pairs 200
        carry/penalty --device cuda:0 --layers 72 --batch 12 --side 256 --pairs 200 --rows squared
    } 2>&1 | tee "$out/penalty.txt"
    tar -C "$out" -czf "$out/runs.tar.gz" runs && rm -rf "$out/runs"
}

case "${1:-}" in
    pack) pack ;;
    run) run "${2:-}" ;;
    *) sed -n '2,5s/^# //p' "$0"; exit 2 ;;
esac
