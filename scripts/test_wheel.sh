#!/usr/bin/env bash
# The wheel of `make wheel` under every Python that can be had here, with the torch versions that its tests know (`make test-wheel`).
#   PYTHONS="3.10 3.13" TORCHES="2.11.0 newest none" scripts/test_wheel.sh     some of them; none: the tests without torch
set -uo pipefail
cd "$(dirname "$0")/.."
wheel=$(ls python/dist/*.whl 2>/dev/null | head -1)
[ -n "$wheel" ] || { echo "python/dist: expected a wheel, found none; make wheel first" >&2; exit 2; }
scripts/wheel.sh --check "$wheel" || exit 1
wheel=$(realpath "$wheel") tests=$(realpath python/tests) rows=() failed=0
for version in ${PYTHONS:-3.10 3.11 3.12 3.13 3.14}; do
    if ! python=$(command -v "python$version") || ! "$python" -c pass 2>/dev/null; then
        rows+=("Python $version: not here")
        continue
    fi
    for torch in ${TORCHES:-none 2.4.1 2.11.0 newest}; do
        folder=$(mktemp -d)
        wanted=(numpy pytest)
        case $torch in
            none) ;;
            newest) wanted+=(torch) ;;
            # Built against numpy 1.
            2.4*) wanted=("numpy<2" pytest "torch==$torch") ;;
            *) wanted+=("torch==$torch") ;;
        esac
        name="Python $version, torch $torch"
        if ! { "$python" -m venv "$folder/venv" && "$folder/venv/bin/pip" install --quiet "${wanted[@]}" "$wheel"; } >"$folder/log" 2>&1; then
            rows+=("$name: cannot be installed: $(grep -i error "$folder/log" | tail -1)")
        elif (cd "$folder" && venv/bin/pytest -q -p no:cacheprovider "$tests" >log 2>&1); then
            rows+=("$name: $(tail -1 "$folder/log")")
        else
            rows+=("$name: FAILED: $(grep -E '^(FAILED|ERROR)' "$folder/log" | head -3 | tr '\n' ' ')$(tail -1 "$folder/log")")
            failed=1
        fi
        rm -rf "$folder"
    done
done
printf '%s\n' "${rows[@]}"
exit $failed
