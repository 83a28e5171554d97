"""escnn keeps coefficients on disk inside its package, and says so on standard output. Here it is given another folder, and silence."""

import tempfile


def elsewhere(folder=None):
    """Sends every joblib.Memory that escnn makes to `folder`, a new empty one without it; call it before escnn is imported."""
    import joblib

    kept = folder or tempfile.TemporaryDirectory()
    where = folder or kept.name

    class Elsewhere(joblib.Memory):
        keep = kept  # the temporary folder goes when the program ends

        def __init__(self, location, *args, **keywords):
            super().__init__(where, *args, **{**keywords, "verbose": 0})

    joblib.Memory = Elsewhere
    return where
