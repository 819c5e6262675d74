#!/bin/sh
# evening.sh [FILE…]: loads new bars, then lists each ticker that entered another RSI zone after the day SINCE, and how
# such days turned out 20 days later. It needs bands and jq.
set -eu
since=${SINCE:?the day after which changes are listed, as YYYY-MM-DD}

[ $# -eq 0 ] || bands import "$@" --quiet

bands changes --since "$since" --timeframe daily --ndjson |
  jq -r 'select(.field == "rsi_zone") | [.ticker, .date, .band] | @tsv' |
  while read -r ticker date band; do
    bands tally "$ticker" rsi_zone --band "$band" --json |
      jq -r --arg line "$date  $ticker  $band" '
        .groups[0].windows[] | select(.window == "20d") |
        if .returns.n < 10 then "\($line): too few such days"
        else "\($line): up after 20 days in \(100 * .returns.hit_rate | round) % of \(.returns.n) cases," +
          " after any day in \(100 * .base.returns.hit_rate | round) %"
        end'
  done
