"""Accuracy, AUC and cross entropy of logits by scikit-learn, as MedMNIST's own evaluator takes them.

Scores are the softmax of logits. Two classes: the area of class 1. More: the mean over classes of the area of each against the rest.
"""

import numpy
from scipy.special import softmax
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss, roc_auc_score

from conventions import close, write


def auc(scores, truth):
    if scores.shape[1] == 2:
        return roc_auc_score(truth, scores[:, -1])
    return numpy.mean([roc_auc_score(truth == k, scores[:, k]) for k in range(scores.shape[1])])


def by_counting(scores, truth):
    """The same by comparing every volume of a class with every other."""
    areas = []
    for k in range(scores.shape[1]):
        inside, outside = scores[truth == k, k], scores[truth != k, k]
        areas.append(((inside[:, None] > outside).mean() + (inside[:, None] == outside).mean() / 2))
    return areas[1] if len(areas) == 2 else numpy.mean(areas)


def main():
    random = numpy.random.default_rng(7)
    tensors = {}
    for name, classes, count, hint in [("two", 2, 60, 1.0), ("eleven", 11, 150, 2.0), ("ties", 3, 50, 1.0)]:
        truth = random.integers(classes, size=count)
        truth[:classes] = numpy.arange(classes)
        logits = random.normal(size=(count, classes)) + hint * numpy.eye(classes)[truth]
        if name == "ties":
            logits = logits[random.integers(6, size=count)]
        scores = softmax(logits, axis=1)
        answers = logits.argmax(axis=1)
        area, accuracy = auc(scores, truth), accuracy_score(truth, answers)
        loss = log_loss(truth, scores, labels=range(classes))
        close(area, by_counting(scores, truth), 1e-12, f"{name}: AUC")
        close(loss, -numpy.log(scores[numpy.arange(count), truth]).mean(), 1e-12, f"{name}: cross entropy")
        if classes > 2:
            close(area, roc_auc_score(truth, scores, multi_class="ovr", average="macro"), 1e-12, f"{name}: one against the rest")
        print(f"{name}: accuracy {accuracy:.4f}, AUC {area:.4f}, AUC of the logits themselves {auc(logits, truth):.4f}, loss {loss:.4f}")
        tensors |= {
            f"{name}.logits": logits,
            f"{name}.truth": truth.astype(float),
            f"{name}.accuracy": [accuracy],
            f"{name}.auc": [area],
            f"{name}.loss": [loss],
            f"{name}.confusion": confusion_matrix(truth, answers, labels=range(classes)).astype(float),
        }
    write("medmnist_metrics", tensors, """
        CASE.logits [n, classes], .truth [n]: labels; .accuracy, .auc, .loss [1], .confusion [classes, classes], rows the truth. Scores are softmax;
        two classes: the area of class 1; more: the mean over classes, each against the rest; of equal logits the first is the answer
        """, 7, ["scikit-learn", "scipy", "numpy"])


if __name__ == "__main__":
    main()
