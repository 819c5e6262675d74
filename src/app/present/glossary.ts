/** Explanations of short words in table heads, sentences and charts. */

/** Titles of columns; a column that means something else by one says so itself. */
export const TERMS: Readonly<Record<string, string>> = {
  '95%': 'An interval that holds the true value in 95 of 100 such studies',
  Any: 'The same after any bar',
  After: 'Mean return after the events',
  'Any n': 'How many bars that is of',
  'Any rose': 'Share of returns above 0 after any bar',
  'Any SD': 'Standard deviation after any bar',
  Block: 'Mean block in bars',
  CAR: 'Cumulative abnormal return',
  df: 'Degrees of freedom',
  Diff: 'Mean, less that of any bar',
  G: 'G-test against any bar',
  Indep: 'How many separate events would show as much: overlap and common moves count less',
  'Left out': 'Events without a return, not in n: their window has not elapsed, or their ticker ended',
  Lift: 'Rose, divided by that of any bar',
  MAE: 'Greatest loss on the way; of several the mean',
  MFE: 'Greatest gain on the way; of several the mean',
  n: 'How many it is of',
  p: 'How often chance does as much: the smaller, the less it looks like chance',
  'P&L': 'Money, net',
  p10: 'A tenth of the returns lies below',
  p25: 'A quarter of the returns lies below',
  p75: 'A quarter of the returns lies above',
  p90: 'A tenth of the returns lies above',
  Purged: 'Events left out because their window reached the other part',
  q: 'p corrected for how many were tried',
  Rose: 'Hit rate: share of returns above 0',
  'Rose 95%': '95% interval of the share of returns above 0, on the independent cases',
  'Same years': 'Mean of any bar in the calendar years of the events',
  SD: 'Standard deviation',
  t: 'After decades of tests, a finding needs more than 3',
  'Top 40%': 'Share of returns among the best 40% of the ticker’s own past',
  'Test mean': 'Of the same, where they were checked',
  'Train mean': 'Of the chosen combinations, where they were chosen',
}

/** Short words of sentences, tiles and charts: the pattern that finds each, and its meaning. */
export const GLOSSARY: Readonly<Record<string, readonly [word: RegExp, meaning: string]>> = {
  p: [
    /\bp(?= [.<]\d)|, p\b/,
    'How often chance does as much: the smaller, the less it looks like chance. It is not the probability that there is nothing to it.',
  ],
  q: [/\bq\b/, 'p corrected for how many combinations were tried.'],
  n: [/\bn(?= \d|: )/, 'How many it is of.'],
  points: [/\d points\b/, 'Percentage points: 5% is 3 points more than 2%.'],
  'independent cases': [
    /\bindependent\b/,
    'How many independent events would show as much as these: overlapping windows and tickers that move together count as fewer. They are what counts.',
  ],
  corrected: [
    /\bcorrected for\b/,
    'p corrected for the number of combinations tried: the more are tried, the more look good by chance.',
  ],
  '95% interval': [/95% interval|\(95% /, 'It holds the true value in 95 of 100 such studies.'],
  'any bar, any day': [
    /\bany (?:bar|day|week)\b/,
    'What follows anyway: the mean after every bar of the same tickers and dates.',
  ],
  'time in market': [
    /[Tt]ime in market/,
    'The share of the equity in positions, on average over all days. On a day with a position it may be a small part of the equity.',
  ],
  'same exposure': [
    /\bsame exposure\b/,
    'Buy and hold with as much of the equity as the strategy had in the market on average: what being there that much brings by itself.',
  ],
  'random entry': [/\b[Rr]andom entry\b/, 'The same trades, all moved to other dates together.'],
  'deflated Sharpe ratio': [
    /[Dd]eflated Sharpe/,
    'The probability that the Sharpe ratio is above the best that chance would reach in as many tries.',
  ],
  Sharpe: [/\bSharpe\b/, 'Mean return above the risk-free rate, divided by how much returns vary; a year.'],
  drawdown: [/\b[Dd]rawdown/, 'How far the equity lay below its highest value so far.'],
  turnover: [/\bturnover\b/, 'How often in a year the whole equity is bought or sold.'],
  'gross, net': [/\b(?:gross|net|Net)\b/, 'Before and after costs.'],
  bp: [/\bbp\b/, 'Basis points: hundredths of a percent.'],
  ATR: [/\bATR\b/, 'Average true range: how far the price moves in a bar, gaps included.'],
  RSI: [/\bRSI\b|\brsi_zone\b/, 'Relative strength index: from 0, falling on every bar, to 100, rising on every bar.'],
  SPA: [
    /\bSPA\b/,
    'Hansen’s test of superior predictive ability: whether the best of all combinations is better than the best by chance.',
  ],
  'reality check': [/\b[Rr]eality check\b/, 'White’s test of the same.'],
  'CSCV, overfitting': [
    /\bCSCV\b|\bOverfitting\b/,
    'How often the best of one half of the days is not above the median in the other half (combinatorially symmetric cross-validation).',
  ],
  BCa: [/\bBCa\b|\bbca\b/i, 'An interval of the bootstrap, corrected for bias and skew.'],
  SQN: [/\bSQN\b/, 'System quality number.'],
  CAGR: [/\bCAGR\b/, 'Compound annual growth rate: the same return in every year that makes the total.'],
  'VaR, CVaR': [
    /\bC?VaR\b/,
    'Value at risk: the return that one bar in twenty falls below; conditional: the mean of the worst twentieth.',
  ],
  smoothness: [
    /\b[Ss]moothness\b/,
    'How close the combinations of a grid are to their neighbours: 1 is smooth, about 0 is chance.',
  ],
  rf: [/\brf\b/, 'The risk-free rate a year.'],
  'logarithmic scale': [/logarithmic scale/, 'Equal distances are equal changes in percent.'],
}
