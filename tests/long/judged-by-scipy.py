"""Computes what scipy, statsmodels and exact integers make of the inputs of judged-by-scipy.test.ts.

Reads {estimator: [input, ...]} from the standard input, writes {estimator: [[number, ...], ...]}.
"""

import gc
import json
import math
import sys
import warnings

import numpy as np
from scipy import stats
from statsmodels.api import OLS
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint

warnings.filterwarnings("ignore")
# multipletests collects garbage each time, which takes 0.07 seconds with all modules.
gc.freeze()


def exact_test(counts):
    few, many = sorted(counts)
    table = [[0, counts[0]], [counts[1], 0]]
    mid_p = (
        1 - stats.binom.pmf(few, 2 * few, 0.5) / 2
        if few == many
        else 2 * stats.binom.cdf(few, few + many, 0.5) - stats.binom.pmf(few, few + many, 0.5)
    )
    return [
        math.log10(stats.binomtest(counts[0], few + many).pvalue),
        math.log10(mcnemar(table, exact=True).pvalue),
        math.log10(mid_p),
    ]


def tiny_exact_test(counts):
    """By integers: no floating-point number is as small."""
    few, trials = min(counts), sum(counts)
    term = tail = 1
    for index in range(1, few + 1):
        term = term * (trials - index + 1) // index
        tail += term
    return [math.log10(2 * tail) - trials * math.log10(2)]


def paired_difference(pairs):
    first, second = ([np.mean(pair[side]) for pair in pairs] for side in (0, 1))
    test = stats.ttest_rel(first, second)
    interval = test.confidence_interval(0.95)
    return [np.mean(first) - np.mean(second), *interval, math.log10(test.pvalue)]


def permutation(differences):
    test = stats.permutation_test(
        (np.array(differences), np.zeros(len(differences))),
        lambda first, second, axis: np.mean(first - second, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    return [test.pvalue]


def bootstrap(differences):
    """In multiples of the standard error around the mean: two bootstraps agree to so much."""
    size = len(differences)
    tail = stats.norm.cdf(-math.sqrt(size / (size - 1)) * stats.t.ppf(0.975, size - 1))
    test = stats.bootstrap(
        (differences,),
        np.mean,
        n_resamples=10_000,
        confidence_level=1 - 2 * tail,
        method="percentile",
        rng=np.random.default_rng(1),
    )
    bounds = np.array(test.confidence_interval)
    return list((bounds - np.mean(differences)) / stats.sem(differences))


def detectable_effect(deviation, count):
    multiple = stats.t.ppf(0.975, count - 1) + stats.t.ppf(0.8, count - 1)
    return multiple * deviation / math.sqrt(count)


def clustered(scores):
    values = np.concatenate(scores)
    groups = np.repeat(np.arange(len(scores)), [len(each) for each in scores])
    fit = OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    mean, error, size = values.mean(), fit.bse[0], len(scores)
    few = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, size - 1)) ** 2
    trials = few * mean * (1 - mean) / error**2
    return [error, *proportion_confint(mean * trials, trials, method="wilson")]


def variance_split(scores):
    sizes = np.array([len(each) for each in scores])
    total = sizes.sum()
    within = sum(np.var(each) * len(each) for each in scores) / (total - len(scores))
    ratio = stats.f_oneway(*scores).statistic
    size = (total - (sizes**2).sum() / total) / (len(scores) - 1)
    return [max(0, within * (ratio - 1) / size), within]


JUDGES = {
    "exact test": exact_test,
    "tiny exact test": tiny_exact_test,
    "paired difference": paired_difference,
    "sign test": lambda counts: [math.log10(stats.binomtest(counts[0], sum(counts)).pvalue)],
    "permutation": permutation,
    "bootstrap": bootstrap,
    "holm": lambda p: list(multipletests(p, method="holm")[1]),
    "t": lambda x: [stats.t.logsf(x[0], x[1]) + math.log(2), stats.t.ppf(x[2], x[1])],
    "normal share": lambda z: [stats.norm.cdf(z)],
    "log gamma": lambda x: [math.lgamma(x)],
    "detectable effect": lambda x: [detectable_effect(*x)],
    "power": lambda x: [TTestPower().power(x[0], nobs=x[1], alpha=0.05)],
    "pass": lambda x: [
        stats.hypergeom.sf(0, x[1], x[0], x[2]),
        stats.hypergeom.pmf(x[2], x[1], x[0], x[2]),
    ],
    "wilson": lambda x: list(proportion_confint(x[0], x[1], method="wilson")),
    "clustered": clustered,
    "variance split": variance_split,
    "cohen": lambda table: [cohens_kappa(np.array(table)).kappa],
    "fleiss": lambda ratings: [fleiss_kappa(np.array(ratings))],
}

inputs = json.load(sys.stdin)
json.dump(
    {
        name: [[float(value) for value in JUDGES[name](each)] for each in all_inputs]
        for name, all_inputs in inputs.items()
    },
    sys.stdout,
)
