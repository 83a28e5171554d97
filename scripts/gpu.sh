#!/usr/bin/env bash
# What is measured on a GPU, in two halves so that the machine with the GPU needs neither Rust nor a network:
#   scripts/gpu.sh pack               here: builds in release mode and puts the programs into carry/ (ignored by git)
#   scripts/gpu.sh run WHAT [OUT]     there: python3 with torch 2.11.0; leaves results in OUT (default results/gpu)
# WHAT is method (SO(2) on both devices, the penalty on 72 convolutions), smoke-speed (training steps beside PyTorch),
# smoke-data (all three sets, on the processors) or smoke-table (table-smoke; a stopped one goes on).
# A binary built against the libtorch of `make libtorch` runs there as it is: the CUDA libraries are opened at run time.
set -euo pipefail
cd "$(dirname "$0")/.."
data="${REYNOLDS_SMOKE:-carry/smoke}"

pack() {
    rm -rf carry && mkdir -p carry
    cargo build --release -p reynolds-cli
    cp "${CARGO_TARGET_DIR:-target}"/release/reynolds{,-train} carry/
    for bench in penalty smoke; do
        cargo bench --no-run -p reynolds-torch --bench "$bench" --message-format=json |
            python3 -c 'import json, sys
for line in sys.stdin:
    found = json.loads(line)
    if found.get("executable") and found["target"]["name"] == sys.argv[1]:
        print(found["executable"])' "$bench" | xargs -I{} cp {} "carry/bench-$bench"
    done
    strip carry/* || true
    git rev-parse HEAD > carry/commit
    ls -l carry
}

machine() {
    torch="$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent)')"
    LD_LIBRARY_PATH="$torch/lib:$(printf '%s:' "$torch"/../nvidia/*/lib)${LD_LIBRARY_PATH:-}"
    export LD_LIBRARY_PATH
    REYNOLDS_COMMIT="$(cat carry/commit)"
    export REYNOLDS_COMMIT
    {
        echo "commit $REYNOLDS_COMMIT"
        python3 -c 'import torch; print("torch", torch.__version__, torch.cuda.get_device_name(0))'
        nvidia-smi --query-gpu=name,driver_version,clocks.sm,memory.total --format=csv,noheader
    } | tee "$out/machine.txt"
}

method() {
    # One program for both devices, and the same experiment on both.
    for device in cpu cuda:0; do
        carry/reynolds run so2 --device "$device" --runs "$out/runs" --set penalty.lambda_perp=0.1 --set seed=0
    done 2>&1 | sed "s#$out/##" | tee "$out/so2.txt"
    # The penalty on 72 convolutions 5x5 of 36 channels at 256 x 256 under C4: design bar max(0.5 %, 100 us).
    {
        carry/bench-penalty --device cuda:0 --layers 72 --batch 4 --side 256 --pairs 200
        carry/bench-penalty --device cuda:0 --layers 72 --batch 12 --side 256 --pairs 200 --rows squared
    } 2>&1 | tee "$out/penalty.txt"
    tar -C "$out" -czf "$out/runs.tar.gz" runs && rm -rf "$out/runs"
}

# Both programs in turn as ratios, then what the penalty adds to our steps.
smoke_speed() {
    python3 peers/smoke_side_by_side.py --bench carry/bench-smoke --device cuda:0 --rounds "${ROUNDS:-2}" \
        --json "$out/smoke-speed.jsonl" | tee "$out/smoke-speed.txt"
    for model in rsteer-rotation rgroup-rotation rgroup-translation rsteer-scale rgroup-scale; do
        carry/bench-smoke --model "$model" --device cuda:0 --steps 10 --pairs "${PAIRS:-200}"
    done | tee "$out/smoke-penalty.txt"
}

smoke_data() {
    for kind in rotation translation scaling; do
        carry/reynolds data smoke --kind "$kind" --out "$data"
    done
}

# TABLE is the name of the table, TABLE_ARGS are further arguments of the command.
smoke_table() {
    local runs="${TABLES:-carry/tables}/${TABLE:-smoke}" folder
    export REYNOLDS_DATA="${data%/smoke}"
    folder="$(ls -d "$runs"/reproduce/table-smoke/* 2> /dev/null | tail -1 || true)"
    # shellcheck disable=SC2086
    if [ -n "$folder" ]; then
        carry/reynolds reproduce table-smoke --device cuda:0 --jobs "${JOBS:-4}" --resume "$folder"
    else
        carry/reynolds reproduce table-smoke --device cuda:0 --jobs "${JOBS:-4}" --runs "$runs" ${TABLE_ARGS:-}
    fi 2>&1 | tee "$out/${TABLE:-smoke}.txt"
    folder="$(ls -d "$runs"/reproduce/table-smoke/* | tail -1)"
    tar -C "$folder" --exclude=checkpoints -czf "$out/${TABLE:-smoke}.tar.gz" .
}

case "${1:-}" in
    pack) pack ;;
    run)
        out="${3:-results/gpu}"
        mkdir -p "$out"
        case "${2:-}" in
            method | smoke-speed | smoke-data | smoke-table) machine && "${2//-/_}" ;;
            *) sed -n '2,8s/^# //p' "$0"; exit 2 ;;
        esac ;;
    *) sed -n '2,8s/^# //p' "$0"; exit 2 ;;
esac
