#!/usr/bin/env bash
# What is measured on a GPU, in two halves so that the machine with the GPU needs neither Rust nor a network:
#   scripts/gpu.sh pack               here: builds in release mode and puts the programs into carry/ (ignored by git)
#   scripts/gpu.sh run WHAT [OUT]     there: python3 with torch 2.11.0 and NumPy; leaves results in OUT (default results/gpu)
# Where both are one machine `scripts/gpu.sh run compare` is enough: it packs first if nothing is packed.
# WHAT is tests (those that only a GPU can run), compare (the rows of peers/compare.py that a GPU has, stopped after STOP=400 seconds, 0 =
# never, and then its last line is the command that goes on), method (SO(2) on both devices, the penalty in a step of 72 convolutions),
# graphs (training steps with and without a CUDA graph, beside PyTorch's in one), overheads (what the penalty adds in the smoke networks,
# and in the spectral norm), python (the Python package: its tests and its penalty in a CUDA graph), penalty (its gradient and its
# decoupled steps by themselves), smoke-speed, ct-speed or medmnist-speed (training steps beside PyTorch),
# ct-penalty or medmnist-penalty (what the penalty adds to a step), smoke-data or ct-data (the sets, on the processors), or a
# table or figure, which STOP=SECONDS stops in time and a second call goes on with: smoke-table, table-ct, table-norms, fig-ct,
# table-medmnist, table-medmnist-efficiency, fig-sensitivity, fig-confusion, fig-shapes.
# A binary built against the libtorch of `make libtorch` runs there as it is: the CUDA libraries are opened at run time.
set -euo pipefail
cd "$(dirname "$0")/.."
given_data="${REYNOLDS_DATA:-data}"
# Simulated data; `pack` puts slices and metal masks of $REYNOLDS_DATA/ct into carry/ct where there are some, and what there is of
# $REYNOLDS_DATA/medmnist at 28³ into carry/medmnist.
export REYNOLDS_DATA="${REYNOLDS_HERE:-carry}"

# carried FOLDER FILE…: into carry/FOLDER goes what there is of the files; what is missing is said.
carried() {
    local folder="carry/$1" file
    for file in "${@:2}"; do
        if [ -f "$file" ]; then
            mkdir -p "$folder"
            cp "$file" "$folder/"
        else
            echo "pack: $file: expected a file, found none; packed without it" >&2
        fi
    done
}

# built PACKAGE NAME PROGRAM: a test of a package, as carry/PROGRAM.
built() {
    cargo test --release --no-run -p "$1" --test "$2" --message-format=json |
        python3 -c 'import json, sys
for line in sys.stdin:
    found = json.loads(line)
    if found.get("executable") and found["target"]["name"] == sys.argv[1]:
        print(found["executable"])' "$2" | xargs -I{} cp {} "carry/$3"
}

pack() {
    rm -rf carry && mkdir -p carry
    if [ -d "$given_data/ct" ]; then
        carried ct "$given_data"/ct/*.npz
        carried ct/aapm "$given_data"/ct/aapm/{metal_masks.mat,phantom.vf}
    fi
    if [ -d "$given_data/medmnist" ]; then
        carried medmnist "$given_data"/medmnist/{vessel,adrenal,nodule,synapse,organ}mnist3d.npz
    fi
    cargo build --release -p reynolds-cli -p reynolds-paper
    cp "${CARGO_TARGET_DIR:-target}"/release/reynolds{,-paper} carry/
    built reynolds-torch gpu test-gpu
    built reynolds-train run test-train
    # The Python package, without what maturin adds to a wheel, and what its tests need.
    PYO3_BUILD_EXTENSION_MODULE=1 cargo build --release -p reynolds-python
    mkdir -p carry/python && cp -r python/reynolds python/tests carry/python/
    cp "${CARGO_TARGET_DIR:-target}"/release/lib_reynolds.so carry/python/reynolds/_reynolds.abi3.so
    strip carry/python/reynolds/_reynolds.abi3.so
    python3 -m pip install --quiet --target carry/python pytest || echo "pack: packed without pytest" >&2
    find carry -maxdepth 1 -type f -exec strip {} + || true
    git rev-parse HEAD > carry/commit
    ls -l carry
}

machine() {
    [ -x carry/reynolds ] || pack
    torch="$(python3 -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parent)')"
    LD_LIBRARY_PATH="$torch/lib:$(printf '%s:' "$torch"/../nvidia/*/lib)${LD_LIBRARY_PATH:-}"
    export LD_LIBRARY_PATH
    REYNOLDS_COMMIT="$(cat carry/commit)"
    export REYNOLDS_COMMIT
    nvidia-smi --query-gpu=driver_version --format=csv,noheader | python3 -c 'import json, sys, torch
driver = sys.stdin.read().split()[0]
print(json.dumps({"commit": sys.argv[1], "device": torch.cuda.get_device_name(0), "driver": driver, "torch": torch.__version__}))' \
        "$REYNOLDS_COMMIT" | tee "$out/machine.json"
}

# Tests that are passed over elsewhere: the kernels of the penalty beside the core in double precision, and CUDA graphs.
tests() {
    carry/test-gpu --include-ignored --test-threads 1 2>&1
    carry/test-train --test-threads 1 cuda:: 2>&1
}

# What the penalty adds to steps of the smoke networks at the published sizes, and to those of DICDNet in two norms.
overheads() {
    {
        for model in "rotation rsteer 92 1 16" "rotation rgroup 130 3 16" "translation rgroup 128 2 8" "scaling rsteer 48 1 8"; do
            read -r kind architecture hidden banks batch <<< "$model"
            our_step "smoke --batch $batch --set data.kind=$kind --set model.architecture=$architecture --set model.hidden=$hidden --set model.banks=$banks" \
                --pairs "${PAIRS:-60}" --set penalty.lambda_perp=1e-4
        done
        for norm in frobenius spectral; do
            our_step "ct --set train.precision=bf16 --batch 4" --pairs "${PAIRS:-60}" --set penalty.lambda_perp=1 --set "penalty.norm=$norm"
        done
    } | tee "$out/overheads.jsonl"
}

# The tests of the Python package that need a GPU, and its gradient and decoupled step by themselves.
python() {
    export PYTHONPATH="$PWD/carry/python${PYTHONPATH:+:$PYTHONPATH}"
    python3 -m pytest -q -p no:cacheprovider carry/python/tests/test_cuda.py 2>&1 || true
    python3 peers/penalty.py --device cuda:0 --weights 9.4e6,1e7 --forms package,package-decoupled,flat-compiled,orbits-compiled \
        --graph --repeats 200 --json | tee "$out/python.jsonl"
}

method() {
    # One program for both devices, and the same experiment on both.
    for device in cpu cuda:0; do
        carry/reynolds run so2 --device "$device" --runs "$out/runs" --set penalty.lambda_perp=0.1 --set seed=0
    done 2>&1 | sed "s#$out/##"
    # The penalty on 72 convolutions 5x5 of 36 channels at 256 x 256 under C4: design bar max(0.5 %, 100 us).
    {
        carry/reynolds bench penalty --device cuda:0 --layers 72 --batch 4 --side 256 --pairs 200
        carry/reynolds bench penalty --device cuda:0 --layers 72 --batch 12 --side 256 --pairs 50
    } 2>&1
    tar -C "$out" -czf "$out/runs.tar.gz" runs && rm -rf "$out/runs"
}

# The penalty by itself: its gradient and its decoupled steps, at several sizes and numbers of layers.
penalty() {
    for size in "--weights 1e6" "--weights 1e7" "--weights 1e8" "--layers 1" "--layers 200"; do
        # shellcheck disable=SC2086
        carry/reynolds bench penalty --device cuda:0 $size --json
    done | tee "$out/penalty.jsonl"
}

# Steps of networks that wait for launches, with and without a CUDA graph, and PyTorch's whole step in one; then what the penalty adds to
# steps in a graph, and two larger steps.
graphs() {
    local dicdnet="ct --set train.precision=bf16 --set data.side=64 --set data.patch=64 --batch 16"
    local small="$dicdnet --set model.stages=3 --set model.blocks=2"
    local smoke="smoke --batch 8 --set data.kind"
    local medmnist="medmnist --set data.set=nodule --set model.architecture=ours --set model.group=so3 --set train.precision=bf16 --batch"
    local tuned="--assemble once --channels-last 1 --cudnn-benchmark 1"
    {
        in_graph "$dicdnet" "ct.py --row plain:16:bf16:default --row plain:16:bf16:channels-last --side 64 --no-inference"
        in_graph "$small" "ct.py --row plain:16:bf16:default --row plain:16:bf16:channels-last --side 64 --stages 3 --blocks 2 --no-inference"
        in_graph "$smoke=translation --set model.architecture=rgroup --set model.hidden=128 --set model.banks=2" "smoke.py --model rgroup-translation $tuned"
        in_graph "$smoke=scaling --set model.architecture=rsteer --set model.hidden=48 --set model.banks=1" "smoke.py --model rsteer-scale $tuned"
        in_graph "$medmnist 8" "medmnist.py --row ours:so3:8:bf16:default --row ours:so3:8:bf16:channels-last --no-inference"
        for step in gradient decoupled; do
            for network in "$small" "$medmnist 8"; do
                our_step "$network" --pairs "${PAIRS:-200}" --set penalty.lambda_perp=1 --set penalty.step=$step
            done
        done
        in_graph "ct --set train.precision=bf16 --batch 4"
        in_graph "$medmnist 32"
    } | tee "$out/graphs.jsonl"
}

# in_graph OURS [THEIRS]: our step with a graph and without, and PyTorch's in one.
in_graph() {
    our_step "$1"
    our_step "$1" --set train.graph=false
    # shellcheck disable=SC2086
    [ -z "${2:-}" ] || python3 peers/$2 --graph --device cuda:0 --steps "${STEPS:-20}" --json
}

our_step() {
    # shellcheck disable=SC2086
    carry/reynolds bench step $1 "${@:2}" --device cuda:0 --steps "${STEPS:-20}" --json
}

# The penalty at 1e6, 1e7 and 1e8 weights; training steps of the networks with and without it; sample-based versus projection. Without
# OUT into results/. Stops after STOP seconds (400; 0 = never) and says what goes on. COMPARE_ARGS are further options.
compare() {
    export PYTHONPATH="$PWD/carry/python${PYTHONPATH:+:$PYTHONPATH}"
    # shellcheck disable=SC2086
    timeout -s INT "${STOP:-400}" python3 peers/compare.py --reynolds carry/reynolds --device cuda:0 --rounds "${ROUNDS:-2}" \
        --out "${given_out:-results}" ${COMPARE_ARGS:-} 2>&1 | tee "$out/compare-gpu.txt" || {
        local code=$?
        local words="${COMPARE_ARGS:-}"
        case "$code" in
            2) exit 2 ;; # it was refused
            1) echo "compare ended with 1: not all of our side was measured (above)" >&2 ;;
            *)
                [[ "$words" = *--resume* ]] || words="--resume ${words//--fresh/}"
                read -ra words <<< "$words"
                echo "compare did not finish ($code); what there is of it is kept, and this goes on:" >&2
                echo "${STOP:+STOP=$STOP }${ROUNDS:+ROUNDS=$ROUNDS }COMPARE_ARGS='${words[*]}' scripts/gpu.sh run compare $given_out" >&2
                ;;
        esac
    }
}

# Both programs in turn as ratios, then what the penalty adds to our steps.
smoke_speed() {
    python3 peers/smoke_side_by_side.py --reynolds carry/reynolds --device cuda:0 --rounds "${ROUNDS:-2}" \
        --pairs "${PAIRS:-200}" --json "$out/smoke-speed.jsonl"
}

smoke_data() {
    for kind in rotation translation scaling; do
        carry/reynolds data smoke --kind "$kind" --out "$REYNOLDS_DATA/smoke"
    done
}

# Our program and PyTorch in turn as ratios, then what the projection penalty adds to our steps.
ct_speed() {
    # shellcheck disable=SC2086
    python3 peers/ct_side_by_side.py --reynolds carry/reynolds --device cuda:0 --json "$out/ct-speed.jsonl" ${SPEED_ARGS:-}
}

ct_penalty() {
    # shellcheck disable=SC2086
    for batch in ${BATCHES:-4 12}; do
        carry/reynolds bench step ct --device cuda:0 --batch "$batch" --pairs "${PAIRS:-200}" ${PENALTY_ARGS:-} --json
    done | tee "$out/ct-penalty.jsonl"
}

# Our program and PyTorch in turn as ratios: the SCNN beside a plain Conv3d net and escnn's own step, ours beside eager PyTorch.
medmnist_speed() {
    # shellcheck disable=SC2086
    python3 peers/medmnist_side_by_side.py --reynolds carry/reynolds --device cuda:0 --json "$out/medmnist-speed.jsonl" \
        ${SPEED_ARGS:-}
}

medmnist_penalty() {
    # shellcheck disable=SC2086
    for group in so3 o3; do
        carry/reynolds bench step medmnist --device cuda:0 --set model.architecture=ours --set model.group="$group" \
            --set data.set=nodule --set penalty.lambda_g=1e-4 --set penalty.lambda_perp=1e-1 --batch "${BATCHES:-32}" \
            --pairs "${PAIRS:-200}" ${PENALTY_ARGS:-} --json
    done | tee "$out/medmnist-penalty.jsonl"
}

ct_data() {
    # shellcheck disable=SC2086
    carry/reynolds data ct --source slices --slices carry/ct --out "$REYNOLDS_DATA/ct-pairs" ${DATA_ARGS:-}
}

# TABLE is the name of the folder and the archive, TABLE_ARGS are further arguments of the command. An archive that came back, put into
# carry/, goes on on another machine: models that were finished are not trained again, one that was not is from its first step.
table() {
    local target="$1" name="${TABLE:-$1}" folder
    local runs="${TABLES:-carry/tables}/$name"
    local command=(timeout -s INT "${STOP:-0}" carry/reynolds reproduce "$target" --device cuda:0 --jobs "${JOBS:-4}")
    folder="$(ls -d "$runs/reproduce/$target"/* 2> /dev/null | tail -1 || true)"
    if [ -z "$folder" ] && [ -f "carry/$name.tar.gz" ]; then
        folder="$runs/reproduce/$target/carried"
        mkdir -p "$folder" && tar -C "$folder" -xzf "carry/$name.tar.gz"
    fi
    # shellcheck disable=SC2086
    if [ -n "$folder" ]; then
        "${command[@]}" --resume "$folder"
    else
        "${command[@]}" --runs "$runs" ${TABLE_ARGS:-}
    fi 2>&1 | tee "$out/$name.txt" || echo "$target did not finish; what there is of it is kept" >&2
    folder="$(ls -d "$runs/reproduce/$target"/* | tail -1)"
    tar -C "$folder" --exclude='*.safetensors' -czf "$out/$name.tar.gz" .
}

case "${1:-}" in
    pack) pack ;;
    run)
        given_out="${3:-}"
        out="${given_out:-results/gpu}"
        mkdir -p "$out"
        case "${2:-}" in
            tests | compare | method | graphs | overheads | python | penalty | smoke-speed | smoke-data | ct-speed | ct-penalty | ct-data | medmnist-speed | medmnist-penalty)
                machine && "${2//-/_}" ;;
            smoke-table) machine && table table-smoke ;;
            table-ct | table-norms | fig-ct) machine && table "$2" ;;
            table-medmnist | table-medmnist-efficiency | fig-sensitivity | fig-confusion | fig-shapes) machine && table "$2" ;;
            *) sed -n '2,14s/^# //p' "$0"; exit 2 ;;
        esac ;;
    *) sed -n '2,14s/^# //p' "$0"; exit 2 ;;
esac
