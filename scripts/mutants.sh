#!/usr/bin/env bash
# make mutants [SAMPLE=150]: changes a line at a time and sees whether the tests of its crate notice: the core, the readers of checkpoints, and
# what a run resumes from. The mutants of each are dealt to shards of about ten; a call works on shards that are not done until SAMPLE
# mutants are, and prints the figures of all. It takes hours, may be stopped at any time, and goes on with the next call.
set -euf -o pipefail
cd "$(dirname "$0")/.."
sample=${SAMPLE:-150} version=27.1.0 tools=target/tools out=target/mutants
mkdir -p $out
# Mutated copies lie elsewhere.
export LIBTORCH=${LIBTORCH:-$PWD/.libtorch/torch}
mutants=$tools/bin/cargo-mutants
if [ ! -x $mutants ]; then
    echo "cargo-mutants $version is built into $tools (once, some minutes)"
    cargo install cargo-mutants --version $version --locked --quiet --root $tools ||
        { echo "cannot build cargo-mutants; with a network: cargo install cargo-mutants --root $tools"; exit 2; }
fi

files() { # the files of a crate that are mutated
    case $1 in
        reynolds) echo 'src/projection/** src/norm/** src/defect/** src/certificate/** src/audit/** src/penalty.rs src/proximal.rs' ;;
        reynolds-checkpoint) echo 'src/**' ;;
        reynolds-train) echo 'src/checkpoint.rs src/*journal.rs src/run_folder.rs src/point_folder.rs src/run.rs' ;;
    esac
}

mutate() { # CRATE, more arguments
    local crate=$1 options=()
    for file in $(files "$crate"); do options+=(--file "crates/$crate/$file"); done
    shift
    # Dependencies are compiled once for all shards.
    CARGO_TARGET_DIR=$PWD/$out/build CARGO_INCREMENTAL=1 $mutants mutants --package "$crate" "${options[@]}" --no-shuffle \
        --colors never "$@"
}

figures() {
    python3 - $out <<'PYTHON'
import collections, json, pathlib, sys
total = collections.Counter()
for crate in ("reynolds", "reynolds-checkpoint", "reynolds-train"):
    found, missed = collections.Counter(), []
    for file in pathlib.Path(sys.argv[1]).glob(f"{crate}-[0-9]*/mutants.out/outcomes.json"):
        for outcome in json.loads(file.read_text())["outcomes"]:
            if outcome["scenario"] != "Baseline":
                found[outcome["summary"]] += 1
                if outcome["summary"] == "MissedMutant":
                    missed.append(outcome["scenario"]["Mutant"]["name"])
    total += found
    for line in sorted(missed):
        print(f"  missed: {line}")
    print(f"{crate}: {dict(found)}")
caught = total["CaughtMutant"] + total["Timeout"]
viable = caught + total["MissedMutant"]
print(f"caught {caught} of {viable} viable mutants ({100 * caught / max(viable, 1):.0f} %)")
PYTHON
}

done=$(find $out -path '*/mutants.out/outcomes.json' -exec cat {} + | grep -c '"Mutant"' || true)
for shard in $(seq 0 200); do
    for crate in reynolds reynolds-checkpoint reynolds-train; do
        folder=$out/$crate-$shard
        [ "$done" -lt "$sample" ] || break 2
        [ ! -e $folder/done ] || continue
        # The tests must pass before anything is changed.
        baseline=run
        [ "$shard" = 0 ] || baseline=skip
        [ -e $out/$crate.count ] || mutate $crate --list | wc -l >$out/$crate.count
        shards=$((($(cat $out/$crate.count) + 9) / 10))
        [ "$shard" -lt $shards ] || continue
        rm -rf "$folder"
        mkdir -p "$folder"
        # 2: some were missed; 3: some ran out of time.
        mutate $crate --sharding round-robin --shard "$shard/$shards" --baseline $baseline --timeout 900 --output "$folder" || [ $? = 2 ] || [ $? = 3 ]
        touch "$folder/done"
        done=$((done + $(grep -c '"Mutant"' "$folder/mutants.out/outcomes.json")))
    done
done
figures
