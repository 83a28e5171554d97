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
    # Networks and fields of others, without what they ask for beside torch and what follows.
    alone=(monai==1.4.0 segmentation_models_pytorch==0.6.0 timm e3nn==0.6.0 opt_einsum_fx==0.1.4 facenet-pytorch==2.6.0)
    # escnn's dependencies are built against numpy 1, so that it has a folder of its own.
    escnn=(numpy==1.26.4 escnn==1.0.11 lie_learn==0.0.2 pymanopt==2.2.1 autograd==1.9.1 joblib==1.6.0 requests urllib3 idna certifi charset_normalizer)
    wanted+=(opt_einsum matplotlib nbclient nbformat ipykernel "torch==$version" "torchvision==$torchvision" lightning transformers accelerate scikit-learn mypy)
fi
quiet=()
[ -t 2 ] || quiet=(--quiet)
packages="${wanted[*]} ${alone[*]:-} ${escnn[*]:-}"
[ "$(cat "$venv/ready" 2>/dev/null)" = "$packages" ] || {
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/pip" install "${quiet[@]}" "${wanted[@]}"
    if [ -n "${alone:-}" ]; then
        "$venv/bin/pip" install "${quiet[@]}" --no-deps "${alone[@]}"
        "$venv/bin/pip" install "${quiet[@]}" --no-deps --target "$venv/escnn" "${escnn[@]}" || {
            echo "escnn cannot be installed for this Python: its test is skipped" >&2
            rm -rf "$venv/escnn"
        }
    fi
    echo "$packages" >"$venv/ready"
}
# Built to be there soon, not to be fast.
MATURIN_PEP517_ARGS="--profile quick" "$venv/bin/pip" install "${quiet[@]}" --force-reinstall --no-deps ./python
# From a folder in which `import reynolds` finds what was installed, not the sources.
cd "$venv"
[ -d escnn ] && export REYNOLDS_ESCNN="$PWD/escnn"
exec bin/pytest -q -p no:cacheprovider ../python/tests
