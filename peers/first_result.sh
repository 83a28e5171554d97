#!/usr/bin/env bash
# From nothing to a first result in an empty folder, as a new user would:
# first_result.sh reynolds-projection|reynolds-audit|symm-learning|escnn FOLDER
# reynolds: clone, build, projections over a dozen groups; audit tables besides. The others: environment, pip (the recipe of setup.sh, and no
# more than the package needs), one projection or one layer with its output. The caches of cargo and pip are used as they are; pip brings
# torch with its CUDA libraries, 4 GB.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
what="${1:?expected reynolds-projection, reynolds-audit, symm-learning or escnn}" folder="${2:?expected a folder}"

environment() {
    "${PYTHON:-python3}" -m venv "$folder/venv"
    # Names as the requirements have them, with their versions.
    local pinned=()
    for name in "$@"; do
        pinned+=("$(grep -hE "^$name(==|$)" "$here/requirements.txt" "$here/requirements-no-deps.txt" | head -1)")
    done
    "$folder/venv/bin/pip" install --quiet "${pinned[@]}"
}

without_dependencies() {
    "$folder/venv/bin/pip" install --quiet --no-deps "$(grep -hE "^$1==" "$here/requirements-no-deps.txt")"
}

case "$what" in
    reynolds-projection | reynolds-audit)
        git clone --quiet "$here/.." "$folder/reynolds"
        [ "$what" = reynolds-audit ] && demo=demo-audit || demo=demo-project
        make -C "$folder/reynolds" "$demo"
        ;;
    escnn)
        environment numpy scipy torch lie_learn joblib pymanopt autograd
        without_dependencies escnn
        "$folder/venv/bin/python" -W ignore -c '
import torch
from escnn import gspaces, nn
fields = nn.FieldType(gspaces.rot2dOnR2(4), 9 * [gspaces.rot2dOnR2(4).regular_repr])
layer = nn.R2Conv(fields, fields, 5)
print(layer(nn.GeometricTensor(torch.randn(1, fields.size, 16, 16), fields)).tensor.square().mean().item())'
        ;;
    symm-learning)
        environment numpy scipy torch lie_learn joblib pymanopt autograd
        without_dependencies escnn
        without_dependencies symm-learning
        "$folder/venv/bin/python" -W ignore -c '
import torch
from escnn.group import cyclic_group
from symm_learning.representation_theory import GroupHomomorphismBasis, direct_sum
fields = direct_sum([cyclic_group(4).regular_representation] * 16)
weight = torch.randn(fields.size, fields.size)
print(GroupHomomorphismBasis(fields, fields).orthogonal_projection(weight).square().sum().item() / weight.square().sum().item())'
        ;;
    *)
        echo "expected reynolds-projection, reynolds-audit, symm-learning or escnn, found $what" >&2
        exit 2
        ;;
esac
