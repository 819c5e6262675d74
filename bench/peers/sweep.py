"""What pandas and scipy take for parts of a sweep, from frames in memory: bench/research.mjs holds ours against it.

python3 sweep.py BARS.csv EVENTS.csv RESAMPLES; prints one line of JSON.
"""
import json
import sys
import time

import numpy
import pandas
import scipy
from scipy.stats import bootstrap

HORIZONS = [5, 10, 20, 50, 100]

bars = pandas.read_csv(sys.argv[1], usecols=["ticker", "date", "close"])
events = pandas.read_csv(sys.argv[2], usecols=["ticker", "date", "field", "band"])
resamples = int(sys.argv[3])

# An event study as one writes it with pandas (alphalens does the same and more): returns, bases, means by band.
start = time.perf_counter()
closes = bars.groupby("ticker", sort=False)["close"]
for horizon in HORIZONS:
    ahead = closes.shift(-horizon) / bars["close"] - 1
    bars[f"r{horizon}"] = ahead
    bars[f"x{horizon}"] = ahead - ahead.groupby(bars["ticker"], sort=False).transform("mean")
joined = events.merge(bars, on=["ticker", "date"])
means = joined.groupby(["field", "band"])[[f"{kind}{horizon}" for horizon in HORIZONS for kind in "rx"]].mean()
study = time.perf_counter() - start

# The plain bootstrap of one cell's mean, as if its events were independent; of the cell of median size.
sizes = joined.groupby(["field", "band"]).size().sort_values()
field, band = sizes.index[len(sizes) // 2]
values = joined[(joined["field"] == field) & (joined["band"] == band)]["x20"].dropna().to_numpy()
start = time.perf_counter()
bootstrap((values,), numpy.mean, n_resamples=resamples, method="percentile", batch=50, random_state=1)
resampling = time.perf_counter() - start

print(
    json.dumps(
        {
            "pandas": pandas.__version__,
            "scipy": scipy.__version__,
            "cells": int(means.size // 2),
            "study": study,
            "bootstrap": resampling,
            "values": len(values),
        }
    )
)
