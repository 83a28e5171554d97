"""Tiny files in the layout of MedMNIST's 3-D sets, as NumPy writes them: golden/medmnist/.

    fracturemnist3d.npz, fracturemnist3d_64.npz     as the published ones, with a few volumes
    {missing,type,order,side,labels,class}/…        each with one thing wrong

Voxel (x, y, z) of volume n of a part is 16 (n + 1) + part at (1, 2, n), the brightest 255 at (n, 5, 7), and 0 elsewhere.

python golden/medmnist_files.py   (NumPy 1.26.4)
"""

import pathlib

import numpy as np

OUT = pathlib.Path(__file__).parent / "medmnist"
LABELS = {"train": [0, 1, 2, 1], "val": [2, 0], "test": [1, 0, 2]}


def arrays(side, counts):
    found = {}
    for part, (name, labels) in enumerate(LABELS.items()):
        labels = labels[: counts[part]]
        images = np.zeros((len(labels), side, side, side), np.uint8)
        for n in range(len(labels)):
            images[n, 1, 2, n] = 16 * (n + 1) + part
            images[n, n, 5, 7] = 255
        found[f"{name}_images"] = images
        found[f"{name}_labels"] = np.array(labels, np.uint8)[:, None]
    return found


def write(folder, name, found):
    (OUT / folder).mkdir(parents=True, exist_ok=True)
    np.savez_compressed(OUT / folder / name, **found)


def main():
    good = arrays(28, (4, 2, 3))
    write(".", "fracturemnist3d.npz", good)
    write(".", "fracturemnist3d_64.npz", arrays(64, (1, 1, 1)))
    wrong = {
        "missing": {key: value for key, value in good.items() if key != "val_labels"},
        "type": good | {"test_images": good["test_images"].astype(np.int16)},
        "order": good | {"train_images": np.asfortranarray(good["train_images"])},
        "side": good | {"val_images": good["val_images"][:, :27]},
        "labels": good | {"train_labels": good["train_labels"][:, 0]},
        "class": good | {"test_labels": good["test_labels"] + np.uint8(1)},
    }
    for folder, found in wrong.items():
        write(folder, "fracturemnist3d.npz", found)


if __name__ == "__main__":
    main()
