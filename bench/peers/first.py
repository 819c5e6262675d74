"""The first question to a raw file, as one writes it with pandas: what followed each entry into the oversold band.

python3 first.py BARS.csv.gz; prints one line of JSON. RSI over 14 bars, smoothed as Wilder does; oversold below 30.
"""
import json
import sys

import pandas

WINDOWS = [5, 10, 20, 50, 100]

bars = pandas.read_csv(sys.argv[1], usecols=["ticker", "date", "close"])
closes = bars.groupby("ticker", sort=False)["close"]
change = closes.diff()


def smoothed(column):
    return column.groupby(bars["ticker"], sort=False).transform(
        lambda one: one.ewm(alpha=1 / 14, min_periods=14, adjust=False).mean()
    )


gains = smoothed(change.clip(lower=0))
losses = smoothed(-change.clip(upper=0))
is_oversold = 100 * gains / (gains + losses) < 30
entered = is_oversold & ~is_oversold.groupby(bars["ticker"], sort=False).shift(1, fill_value=False)
answer = {"pandas": pandas.__version__, "events": int(entered.sum())}
for window in WINDOWS:
    ahead = (closes.shift(-window) / bars["close"] - 1)[entered].dropna()
    answer[window] = [len(ahead), ahead.mean(), ahead.median(), (ahead > 0).mean()]
print(json.dumps(answer))
