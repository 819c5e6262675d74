/* kernels KIND: million bars a second of processor, in C. KIND: indicators, which is RSI 14, SMA 20, 50 and 200, MACD 12/26/9,
   ATR 14, the mean volume of 50, the slopes of 20 bars of price and of money flow, in one fused pass; or ranks, which is
   the rank of each value among the 252 up to it, by counting. Over random walks, one at a time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICKERS = 500, BARS = 1250, HISTORY = 252 };

typedef struct {
  double high[BARS], low[BARS], close[BARS], volume[BARS];
} Walk;

static double out[16][BARS];

static double cpu(void) { return clock() / (double)CLOCKS_PER_SEC; }

static double drawn(void) { return rand() / (RAND_MAX + 1.0); }

static void make(Walk *w) {
  double price = 20 + 100 * drawn();
  for (int t = 0; t < BARS; t++) {
    double open = price;
    price *= exp(0.04 * (drawn() - 0.499));
    w->close[t] = price;
    w->high[t] = fmax(open, price) * (1 + 0.01 * drawn());
    w->low[t] = fmin(open, price) * (1 - 0.01 * drawn());
    w->volume[t] = 1e6 * (0.5 + drawn());
  }
}

/* Moving sums of several lengths, smoothed ones, and regressions by running sums: what updates in constant time. */
static void indicators(const Walk *w) {
  const int lengths[3] = {20, 50, 200};
  double sums[3] = {0, 0, 0}, volumes = 0, gain = 0, loss = 0, range = 0, fast = 0, slow = 0, signal = 0;
  double price = 0, weighted = 0, flows = 0, flowWeighted = 0;
  static double logs[BARS], line[BARS];
  for (int t = 0; t < BARS; t++) {
    const double c = w->close[t], h = w->high[t], l = w->low[t], v = w->volume[t];
    const double before = t == 0 ? c : w->close[t - 1];
    for (int i = 0; i < 3; i++) {
      sums[i] += c - (t >= lengths[i] ? w->close[t - lengths[i]] : 0);
      out[i][t] = t + 1 < lengths[i] ? NAN : sums[i] / lengths[i];
    }
    const double change = c - before, up = change > 0 ? change : 0, down = change < 0 ? -change : 0;
    gain += (up - gain) / 14;
    loss += (down - loss) / 14;
    out[3][t] = 100 * gain / (gain + loss);
    fast += (c - fast) * 2 / 13;
    slow += (c - slow) * 2 / 27;
    signal += (fast - slow - signal) * 2 / 10;
    out[4][t] = fast - slow;
    out[5][t] = signal;
    const double high = h > before ? h : before, low = l < before ? l : before;
    range += (high - low - range) / 14;
    out[6][t] = range / c;
    volumes += v - (t >= 50 ? w->volume[t - 50] : 0);
    out[7][t] = v * 50 / volumes;
    logs[t] = log(c);
    line[t] = (t == 0 ? 0 : line[t - 1]) + (h > l ? (2 * c - l - h) / (h - l) * v : 0);
    if (t >= 20) {
      weighted += 19 * logs[t] - (price - logs[t - 20]);
      price += logs[t] - logs[t - 20];
      flowWeighted += 19 * line[t] - (flows - line[t - 20]);
      flows += line[t] - line[t - 20];
    } else {
      weighted += t * logs[t];
      price += logs[t];
      flowWeighted += t * line[t];
      flows += line[t];
    }
    out[8][t] = (weighted - 9.5 * price) / 665;
    out[9][t] = (flowWeighted - 9.5 * flows) / 665 / volumes;
  }
}

static void ranks(const Walk *w) {
  for (int t = 0; t < BARS; t++) {
    const int from = t < HISTORY ? 0 : t - HISTORY + 1;
    const double x = w->close[t];
    int less = 0, upTo = 0;
    for (int i = from; i <= t; i++) {
      less += w->close[i] < x - 1e-10;
      upTo += w->close[i] <= x + 1e-10;
    }
    out[0][t] = less + upTo;
  }
}

int main(int count, char **words) {
  void (*work)(const Walk *) = count > 1 && strcmp(words[1], "ranks") == 0 ? ranks : indicators;
  Walk *walks = malloc(sizeof(Walk) * TICKERS);
  for (int i = 0; i < TICKERS; i++) make(&walks[i]);
  double start = cpu(), taken, sum = 0;
  long bars = 0;
  do {
    for (int i = 0; i < TICKERS; i++) {
      work(&walks[i]);
      sum += out[0][BARS - 1] + out[3][BARS - 1] + out[9][BARS - 1];
    }
    bars += (long)TICKERS * BARS;
    taken = cpu() - start;
  } while (taken < 1);
  printf("{\"rate\": %.3f, \"sum\": %g}\n", bars / taken / 1e6, sum);
  return 0;
}
