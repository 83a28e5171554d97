"""The folders of results/ that `reynolds reproduce` left, in the order of the paper, and which columns of their tables are shown."""

import json

import table

SO2 = [("network", "network", None), ("form", "form", None), ("λ_G", "lambda_g", None), ("λ_⊥", "lambda_perp", None),
       ("test accuracy", "test_accuracy", 3), ("ℰ_emp (sum of invariance errors)", "test_invariance_error_sum", 1), ("relative invariance error", "test_invariance_error_relative", 4)]
RINGS = [("σ_⊥", "sigma", None), *SO2]
SMOKE = [("network", "column", None), ("parameters", "parameters", 0), ("λ_⊥", "lambda_perp", None),
         ("Future RMSE", "future_rmse", 3), ("trained", "future_trained", None), ("paper", "future_paper_mean", 2),
         ("Domain RMSE", "domain_rmse", 3), ("trained", "domain_trained", None), ("paper", "domain_paper_mean", 2),
         ("‖W−P(W)‖/‖W‖", "relative_distance", 3)]
CT = [("network", "network", None), ("mode", "mode", None), ("norm", "norm", None), ("PSNR, dB", "psnr", 2), ("SSIM", "ssim", 4),
      ("gain over LI, dB", "gain", 2), ("trained", "trained", None), ("‖W−P(W)‖/‖W‖", "relative_distance", 3), ("equivariance error", "equivariance_error", 3),
      ("training, images/s", "train_images_per_s_4", 1), ("paper PSNR", "paper_psnr", 2)]
VOLUMES = [("set", "set", None), ("network", "row", None), ("parameters", "parameters", 0), ("accuracy", "accuracy", 3), ("AUC", "auc", 3),
           ("trained", "trained", None), ("invariance error", "invariance_error", 3), ("λ_⊥", "lambda_perp", None), ("paper", "paper_accuracy", 3)]
SENSITIVITY = [("set", "set", None), ("group", "group", None), ("λ_G", "lambda_g", None), ("λ_⊥", "lambda_perp", None),
               ("accuracy", "accuracy", 3), ("validation", "validation_accuracy", 3), ("invariance error", "invariance_error", 3)]
SHAPES = [("network", "row", None), ("breaking", "breaking", None), ("λ_⊥", "lambda_perp", None), ("accuracy", "accuracy", 3),
          ("rotation pairs", "rotation", 3), ("reflection pairs", "reflection", 3), ("solids", "solids", 3),
          ("validation loss", "validation_loss", 3), ("invariance error", "invariance_error", 3)]

DECOUPLED = ("Not in the paper, and not counted among its claims: the penalty as a step of its own after Adam's, at the strengths that the "
             "paper's figure has for the gradient. The decoupled step needs larger ones on the path of fig-so2: where a claim fell it has hardly "
             "begun, and the sweep below has the strengths at which it is invariant. On the rings at λ_⊥ = 1 its plain form costs accuracy.")
SWEPT = ("The decoupled step at larger strengths, λ_G = 0. From λ_⊥ = 1 on the plain form makes every layer exactly equivariant (what remains is "
         "rounding of single precision); the squared form approaches it.")

# Folders whose claims are not the paper's.
OURS = {"so2/fig-so2-decoupled", "so2/fig-rings-decoupled"}

# (room, folder, title, columns of table.csv, what a reader must know)
FOLDERS = [
    ("so2", "so2/fig-projection", "A dense matrix, after the mask, after averaging", None, ""),
    ("so2", "so2/fig-so2", "A path of λ_G and λ_⊥", SO2,
     "The path was chosen as one on which the relative invariance error falls. ℰ_emp scales with the logits, which is why it rises before it falls."),
    ("so2", "so2/fig-so2-decoupled", "The same path with the decoupled step", SO2, DECOUPLED),
    ("so2", "so2/fig-so2-grid", "A grid of λ_G and λ_⊥", SO2, ""),
    ("so2", "so2/fig-rings", "Wavy rings at λ_⊥ = 1", RINGS, ""),
    ("so2", "so2/fig-rings-decoupled", "Wavy rings at λ_⊥ = 1 with the decoupled step", RINGS, DECOUPLED),
    ("so2", "so2/fig-rings-grid", "Wavy rings over λ_⊥", RINGS, ""),
    ("smoke", "smoke/rotation", "Rotation", SMOKE, "Simulated by our own simulator, at budgets far below the paper's."),
    ("smoke", "smoke/scaling", "Scaling", SMOKE, "RSteer reads one scale of four, on which shared weights already give every kernel."),
    ("smoke", "smoke/translation", "Translation", SMOKE, ""),
    ("ct", "ct/table-ct", "Three networks, five modes", CT, "Simulated CT-MAR pairs, not the AAPM challenge's. One seed; networks are not trained."),
    ("ct", "ct/table-norms", "Norms, on real slices", CT, "One epoch: not trained."),
    ("ct", "ct/table-norms-phantoms", "Norms, on phantoms", CT, "Six short epochs: not trained."),
    ("medmnist", "medmnist/table-medmnist", "Vessel and Adrenal", VOLUMES, "Six epochs, one learning rate; the paper has 100 epochs and other sets."),
    ("medmnist", "medmnist/table-shapes", "Generated shapes", VOLUMES, ""),
    ("medmnist", "medmnist/fig-sensitivity", "λ_G × λ_⊥", SENSITIVITY, "One seed: nothing is claimed."),
    ("medmnist", "medmnist/fig-confusion", "Confusion matrices of Vessel and Adrenal", None, "The figure has the matrices."),
    ("medmnist", "medmnist/fig-confusion-shapes", "Confusion matrices of the shapes", None, "The figure has the matrices."),
    ("medmnist", "medmnist/fig-shapes", "Shapes whose symmetry is broken", SHAPES,
     "Breaking 0: within a pair nobody can do better than guess; 1: the label is the orientation."),
]

# Sweeps: (room, folder, title, command, the columns of a setting, the columns of metrics, what a reader must know)
SWEEPS = [
    ("so2", "so2/sweep-decoupled", "Strengths of the decoupled step",
     "reynolds sweep so2 --grid penalty.form=plain,squared --grid penalty.lambda_perp=0.1,0.3,1,3,10,30,100 --set penalty.step=decoupled "
     "--set train.evaluate_every=200 --seeds 5",
     [("form", "penalty.form", None), ("λ_⊥", "penalty.lambda_perp", None)],
     [("test accuracy", "test/accuracy", 3), ("ℰ_emp (sum of invariance errors)", "test/invariance_error_sum", 2), ("relative invariance error", "test/invariance_error_relative", None)],
     SWEPT),
]

# Rows that a table of the paper has and a folder has not, and why.
PQ = ("(1,2), (1,3), (2,1), (2,3), (3,1), (3,2)", "no model is trained under these norms as the paper defines them, row by row")
MISSING = {"ct/table-norms": PQ, "ct/table-norms-phantoms": PQ}


# Sentences of earlier runs in today's words.
WORDS = {
    "; not held by fewer than two seeds, whose spread is not known": "",
    "; not held by ends that are tied": "",
    '(its text says "in most cases", and this is none)': '(its text says "in most cases"; this is not one of them)',
}


def open_folder(root, folder):
    """results.json of a folder, or None."""
    path = root / "results" / folder / "results.json"
    if not path.is_file():
        return None
    results = json.loads(path.read_text())
    for check in results["checks"]:
        for before, now in WORDS.items():
            check["found"] = check["found"].replace(before, now)
    return results


def provenance(results):
    """"Commit 2c3691c, cuda:0, 12 models, budget standard, 20261115T220912Z."""
    where = results["environment"]
    commit = (where.get("commit") or "unknown")[:7]
    command = results.get("command") or f"reynolds reproduce {results['target']} --budget {results['budget']}"
    return f"`{command}`, commit {commit}, {where['device']}, {len(results['models'])} models, {table.day(where['time'])}."


def shown(root, folder, columns):
    """The lines of a folder's table."""
    return table.table(table.read(root / "results" / folder / "table.csv"), columns) if columns else []
