"""Computes what scikit-learn makes of the inputs of judged-by-scikit-learn.test.ts.

Reads {estimator: [[confidences, outcomes], ...]} from the standard input, writes {estimator: [[number, ...], ...]}.
"""

import json
import sys

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, roc_auc_score

EDGES = np.linspace(0, 1, 11)


def equal_width(stated, right):
    shares, means = calibration_curve(right, stated, n_bins=10)
    counts = np.histogram(stated, EDGES)[0]
    weights = counts[counts > 0] / len(stated)
    rate = np.mean(right)
    return [
        np.sum(weights * np.abs(shares - means)),
        np.sum(weights * (shares - means) ** 2),
        np.sum(weights * (shares - rate) ** 2),
        rate * (1 - rate),
    ]


def equal_mass(stated, right):
    shares, means = calibration_curve(right, stated, n_bins=10, strategy="quantile")
    return [np.mean(np.abs(shares - means))]


JUDGES = {
    "brier": lambda stated, right: [brier_score_loss(right, stated)],
    "auroc": lambda stated, right: [roc_auc_score(right, stated)],
    "equal width": equal_width,
    "equal mass": equal_mass,
}

inputs = json.load(sys.stdin)
json.dump(
    {
        name: [[float(value) for value in JUDGES[name](*map(np.array, each))] for each in all_inputs]
        for name, all_inputs in inputs.items()
    },
    sys.stdout,
)
