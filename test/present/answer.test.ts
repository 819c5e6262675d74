import { describe, expect, it } from 'vitest'
import { backtestAnswer, studyAnswer, sweepAnswer, tallyAnswer } from '../../src/app/present/answer.js'
import { judgeTogether, verdictOf } from '../../src/core/statistics/verdict.js'
import type { Backtest, Tests } from '../../src/research/backtest/result.js'
import { verdictOn } from '../../src/research/backtest/verdict.js'
import type { EventStudy, StudyWindow } from '../../src/research/study/result.js'
import type { Sweep, SweepCell } from '../../src/research/sweep/result.js'
import { madePrices } from '../support/results/prices.js'
import { madeBacktest, madeStudy, madeSweep, testsWith } from '../support/results/runs.js'
import { madeTally } from '../support/results/tally.js'

const STUDY = await madeStudy([madePrices({ bars: 900 })])
const SWEEP = await madeSweep()
const BACKTEST = await madeBacktest([madePrices({ bars: 2520 })])

interface Seen {
  diff: number | null
  p: number | null
  low: number | null
  high: number | null
  cases: number
  n?: number
}

/** A study of whose windows just this is seen. */
function studied(seen: readonly Seen[], more: Partial<EventStudy> = {}): EventStudy {
  const made = { ...structuredClone(STUDY), events: 23, warnings: [], ...more }
  const judged = judgeTogether(seen.map(({ diff, p }) => ({ difference: diff, p, leastP: null })))
  const windows = seen.map(({ diff, p, low, high, cases, n = 23 }, i): StudyWindow => {
    const window = made.windows[i]!
    return {
      ...window,
      n,
      diff,
      n_independent: cases,
      intervals: [{ ...window.intervals[0]!, low, high }],
      tests: [{ ...window.tests[0]!, p }],
      p_corrected: judged[i]!.corrected,
      verdict: judged[i]!.verdict,
    }
  })
  return { ...made, windows }
}

const CLEAR: Seen = { diff: 0.0377, p: 0.003, low: 0.01, high: 0.06, cases: 13 }
const CHANCE: Seen = { diff: 0.0377, p: 0.078, low: 0.001, high: 0.08, cases: 13 }

describe('the answer of a study', () => {
  it('begins with one of the four words, then the difference, its interval, the cases and p', () => {
    expect(studyAnswer(studied([CHANCE]))).toBe(
      'Not told from chance: +3.8 points over 5 days (95%: +0.10 to +8.0); p .078.',
    )
    expect(studyAnswer(studied([CLEAR]))).toMatch(/^Beats chance: \+3\.8 points .*; p \.003\.$/)
    expect(studyAnswer(studied([{ ...CLEAR, diff: -0.02, low: -0.03, high: -0.01, n: 13 }]))).toBe(
      'Worse than chance: -2.0 points over 5 days (95%: -3.0 to -1.0); p .003.',
    )
  })

  it('says how far the events lie from other bars of the same context', () => {
    const study = studied([CLEAR])
    study.windows[0]!.context_base = { n: 300, mean: 0.02, hit: 0.6, diff: -0.0053 }
    expect(studyAnswer(study)).toMatch(/p \.003\. Against any bar of the same context, not tested: -0\.53 points\.$/)
  })

  it('reports the number of questions about the same data, and whether they count', () => {
    const log = { family: 'ledger', questions: 30, windows: 140, expected: 7 } as const
    const inLog = (q: number, family: 'run' | 'ledger' = 'ledger'): string => {
      const study = studied([CLEAR], { log: { ...log, family } })
      study.windows[0]!.log_q = q
      return studyAnswer(study)
    }
    expect(inLog(0.41)).toMatch(
      /p \.003\. One of 30 questions \(140 windows\) tested on these data so far \(bands trials\): by chance about 7 have p < \.05; corrected for all of them q \.410\.$/,
    )
    expect(inLog(0.41, 'run')).toMatch(
      /p \.003\. One of 30 questions tested on these data so far; the others are not counted \(--family run\)\.$/,
    )
    expect(studyAnswer(studied([{ ...CLEAR, p: null, cases: 7 }], { log }))).toMatch(
      /^Too few: .* One of 30 questions \(140 windows\) tested on these data so far \(bands trials\): by chance about 7 have p < \.05\.$/,
    )
    const first = studied([CLEAR], { log: { ...log, questions: 1, windows: 5 } })
    expect(studyAnswer(first)).toMatch(/; p \.003\.$/)
  })

  it('counts weeks as weeks, and one case as one', async () => {
    const weekly = await madeStudy([madePrices({ weekly: true, bars: 520 })], { timeframe: 'weekly' })
    expect(studyAnswer(weekly)).toMatch(/points over \d+ weeks/)
    expect(studyAnswer(studied([{ ...CHANCE, p: null, cases: 1, n: 1 }]))).toContain('1 independent case;')
  })

  it('takes a second decimal where the first says nothing, and calls no difference none', () => {
    expect(studyAnswer(studied([{ ...CHANCE, diff: 0.0004 }]))).toContain('+0.04 points over')
    expect(studyAnswer(studied([{ ...CHANCE, diff: -0.00001 }]))).toMatch(/chance: no difference over 5 days/)
  })

  it('without an event, an ended window or enough of them says that, and no p', () => {
    expect(studyAnswer(studied([CHANCE], { events: 0 }))).toBe('No such event, so there is nothing to compare.')
    expect(studyAnswer(studied([{ ...CHANCE, n: 0, diff: null, p: null }]))).toMatch(/^Nothing can be said yet: of 23/)
    expect(studyAnswer(studied([{ ...CHANCE, p: null, cases: 7 }]))).toBe(
      'Too few: 7 independent cases among 23 events; compared with any day: +3.8 points over 5 days (95%: +0.10 to +8.0).',
    )
  })

  it('is about the middle one of several windows, even if another is better', () => {
    const answer = studyAnswer(studied([{ ...CHANCE, p: 0.06 }, { ...CHANCE, diff: -0.01, p: 0.9 }, CHANCE]))
    expect(answer).toMatch(/^Not told from chance: -1\.0 point over 10 days.*; p \.900\.$/)
  })

  it('corrects p for the windows, and reports another one if only that one is significant', () => {
    expect(studyAnswer(studied([{ ...CLEAR, p: 0.03 }, CHANCE, CHANCE]))).toMatch(
      /^Not told from chance: .*over 10 days/,
    )
    expect(studyAnswer(studied([CLEAR, CHANCE, CHANCE]))).toMatch(
      /^Beats chance: \+3\.8 points over 5 days.*; p \.003, \.009 corrected for 3 windows\.$/,
    )
    expect(studyAnswer(studied([CLEAR, CLEAR, CHANCE]))).toMatch(
      /Over 5 days beats chance: \+3\.8 points; p \.003, \.009/,
    )
  })

  it('goes by p alone, also where the interval says otherwise', () => {
    expect(studyAnswer(studied([{ ...CLEAR, low: -0.002 }]))).toMatch(/^Beats chance: .*\(95%: -0\.20 to \+6\.0\)/)
  })
})

/** A backtest with a total return, one of holding, and a p of random entry. @param returns of its draws */
function traded(
  total: number,
  held: number,
  p: number | null,
  more: Partial<Backtest> = {},
  returns: readonly number[] = [],
): Backtest {
  const made = structuredClone(BACKTEST)
  const [hold] = made.benchmarks
  const found: Backtest = {
    ...made,
    statistics: { ...made.statistics, total_return: total, invested: 0.21 },
    benchmarks: [
      { ...hold!, statistics: { ...hold!.statistics, total_return: held } },
      { ...hold!, name: 'same exposure', statistics: { ...hold!.statistics, total_return: held } },
    ],
    random_entry: {
      draws: 999,
      mean: 0.006,
      p,
      better_than: p === null ? null : 1 - p / 2,
      reason: p === null ? 'nothing could be drawn' : null,
    },
    trials: {
      run: 1,
      ledger: null,
      family: 'run',
      n: 1,
      variance: null,
      deflated_sharpe: null,
      reason: 'one alone.',
      log: null,
      log_q: null,
    },
    ...more,
  }
  const evidence = { ...found, total, holding: held, isRuined: false, ranks: [], returns, isChoiceOpen: false }
  return { ...found, verdict: verdictOn(evidence, found.trials) }
}

describe('the answer of a backtest', () => {
  it('beats chance only where q over the trial log does, too, and says how many questions there were', () => {
    const log = { family: 'ledger', questions: 31, windows: 151, expected: 7.55 } as const
    const inLog = (log_q: number, family: 'run' | 'ledger' = 'ledger'): string => {
      const { trials } = traded(0.42, 0.095, 0.004)
      return backtestAnswer(traded(0.42, 0.095, 0.004, { trials: { ...trials, log: { ...log, family }, log_q } }))
    }
    expect(inLog(0.3)).toMatch(
      /^Not told from chance: [^.]*\.0%; holding made \+9\.5%\. In the market 21% of the time; the same exposure made \+9\.5%\. One of 31 questions \(151 windows\) tested on these data so far \(bands trials\): by chance about 8 have p < \.05; corrected for all of them q \.300\.$/,
    )
    expect(inLog(0.02)).toMatch(/^Beats chance: .* corrected for all of them q \.020\./)
    expect(inLog(0.3, 'run')).toMatch(/^Beats chance: .* the others are not counted \(--family run\)\./)
  })

  it('has the verdict, the return and that of holding', () => {
    expect(backtestAnswer(traded(0.42, 0.095, 0.074))).toBe(
      'Not told from chance: +42.0%; holding made +9.5%. In the market 21% of the time; the same exposure made +9.5%.',
    )
    expect(backtestAnswer(traded(0.42, 0.095, 0.004))).toMatch(/^Beats chance: \+42\.0%/)
  })

  it('names the same exposure where the time in the market is below half', () => {
    const { statistics, ...more } = traded(0.119, 0.922, 0.074)
    const answer = (invested: number | null): string =>
      backtestAnswer({ ...more, statistics: { ...statistics, invested } })
    expect(answer(0.12)).toMatch(
      /\+11\.9%; holding made \+92\.2%\. In the market 12% of the time; the same exposure made \+92\.2%\.$/,
    )
    for (const invested of [0.5, null]) expect(answer(invested)).not.toContain('In the market')
  })

  it('says worse than holding for a lower result, even if it beats chance', () => {
    for (const p of [0.9, 0.01]) {
      const answer = backtestAnswer(traded(0.1, 0.2, p))
      expect(answer).toMatch(/^Worse than holding: \+10\.0%; holding made \+20\.0%/)
    }
  })

  it('needs 95 % of the draws below holding, or it depends on which signals got a place', () => {
    const points = (p05: number, p95: number) => ({ p05, p50: 0.1, p95 })
    const drawn = (p95: number, above: number): Backtest => {
      const draws = {
        n: 200,
        shown: 44,
        return: points(-0.05, p95),
        sharpe: points(0, 1),
        max_drawdown: points(-0.3, -0.2),
        p: points(0.1, 0.9),
      }
      const returns = Array.from({ length: 200 }, (_, i) => (i < above ? 0.3 : 0.1))
      return traded(0.1, 0.2, 0.5, { draws }, returns)
    }
    expect(drawn(0.19, 10).verdict).toEqual({ word: 'worse than holding', agreement: 0.95 })
    expect(backtestAnswer(drawn(0.19, 10))).toMatch(
      /^Worse than holding: \+10\.0% \(5-95% of 200 draws: -5\.0 to \+19\.0%\); holding made \+20\.0%/,
    )
    expect(backtestAnswer(drawn(0.3, 11))).toMatch(/^Depends on which signals got a place: \+10\.0%/)
  })

  it('does not take the best of many strategies for a good one', () => {
    const trials = { ...traded(0.42, 0, 0.01).trials, run: 12, n: 12, deflated_sharpe: 0.4, reason: null }
    expect(backtestAnswer(traded(0.42, 0.1, 0.01, { trials }))).toContain(
      '12 strategies tried the deflated Sharpe ratio is .400',
    )
  })

  it('is about the days of the tests only where there are any', () => {
    const { statistics, trade_statistics } = traded(0, 0, 0.1)
    const test = testsWith({
      statistics: { ...statistics, total_return: -0.079 },
      trade_statistics,
      holding: statistics,
    })
    const part = {
      name: '1',
      from: '2015-01-02',
      to: '2016-01-04',
      trades: 3,
      chosen: null,
      agreement: null,
      role: 'test' as const,
    }
    const folds = [{ ...part, statistics, trade_statistics }]
    const validation = { kind: 'split' as const, purged: 0, candidates: ['hold 5', 'hold 10'], folds, test }
    const answer = backtestAnswer(traded(0.42, 0.1, 0.001, { validation }))
    expect(answer).toMatch(
      /^Beats chance: -7\.9% on the days of the tests \(2015-01-02 to 2016-01-04\); holding over the same days made /,
    )
    expect(answer).not.toContain('42.0%')
    expect(answer).toContain('Better than 99% of random entries (p .020); ')
    const says = (more: Partial<Tests>): string =>
      backtestAnswer(traded(0.42, 0.1, 0.001, { validation: { ...validation, test: { ...test, ...more } } }))
    expect(says({ verdict: { word: 'too few', agreement: null } })).toMatch(/^Too few: /)
    const [first, ...rest] = traded(0.42, 0.1, 0.001).equity
    const equity = [{ ...first!, equity: -0.1 }, ...rest]
    expect(backtestAnswer(traded(0.42, 0.1, 0.001, { validation, equity }))).toBe(answer)
    const draws = { n: 25, return: { p05: -0.2, p50: 0, p95: 0.8 } }
    expect(says({ draws })).toContain(': -7.9% (5-95% of 25 draws: -20.0 to +80.0%) on the days of the tests')
    const log = { family: 'ledger', questions: 31, windows: 151, expected: 7.55 } as const
    const { trials } = traded(0, 0, 0.1)
    expect(backtestAnswer(traded(0.42, 0.1, 0.001, { validation, trials: { ...trials, log, log_q: 0.3 } }))).toMatch(
      /; holding over the same days made [+-]?[\d.]+%\. One of 31 questions .* q \.300\. Better than 99%/,
    )
  })

  it('says too few of trades that were on together', () => {
    const many = traded(0.42, 0.1, 0.001)
    const trades = Array.from({ length: 30 }, (_, i) => ({ ...many.trades[0]!, ticker: `T${i}`, exit: 'hold' }))
    const trade_statistics = { ...many.trade_statistics, n: 30 }
    const answer = backtestAnswer(traded(0.42, 0.1, 0.001, { trades, trade_statistics }))
    expect(answer).toMatch(/^Too few: /)
  })

  it('says so where there was no bar, no signal, no closed trade, no test or nothing left', () => {
    const made = traded(0.42, 0.1, 0.001)
    const none = { ...made.trade_statistics, n: 0 }
    const whyNone = 'No trade: there is no bar with a band of rsi_zone.'
    expect(backtestAnswer({ ...made, equity: [], warnings: [whyNone] })).toBe(whyNone)
    expect(backtestAnswer({ ...made, signals: { ...made.signals, total: 0 } })).toBe('No signal, so no trade.')
    expect(backtestAnswer({ ...made, trades: [], trade_statistics: none })).toMatch(/^No closed trade of \d+ signals/)
    const [first, ...rest] = made.equity
    expect(backtestAnswer({ ...made, equity: [first!, { ...rest[0]!, equity: -0.1 }] })).toMatch(/^Ruined: on \d{4}-/)
  })
})

function swept(lead: Partial<SweepCell>, more: Partial<Sweep> = {}): Sweep {
  const spa = { lower: 0.021, consistent: 0.028, upper: 0.039 }
  const made = { ...SWEEP, best: { ...SWEEP.best, spa } }
  const [first, ...rest] = made.cells
  const seen = { diff: 0.02, low: 0.01, high: 0.03, p: 0.0002, q: 0.01, n: 40, n_independent: 30, grey: false }
  const one = { ...first!, ...seen, ...lead }
  const others = rest.map(cell => ({ ...cell, verdict: 'not told from chance' as const }))
  return { ...made, found: 1, cells: [{ ...one, verdict: verdictOf(one.q, one.diff) }, ...others], ...more }
}

describe('the answer of a sweep', () => {
  it('counts the other windows that were tested on these data', () => {
    const log = { family: 'ledger', questions: 40, windows: SWEEP.tried.cells + 170, expected: 10 } as const
    const others = '170 other windows tested on these data'
    expect(sweepAnswer(swept({ log_q: 0.03 }, { log }))).toMatch(
      new RegExp(
        `^1 of \\d+ tested combinations beats chance \\(q < \\.05\\)\\. The smallest q is \\.010 in this table, and \\.030 with the ${others} \\(bands trials\\)\\. Tested together`,
      ),
    )
    expect(sweepAnswer(swept({}, { log: { ...log, family: 'run' } }))).toContain(
      `; the ${others} are not counted (--family run). Tested together`,
    )
  })

  it('says nothing of a log that has only this sweep', () => {
    const log = { family: 'ledger', questions: 4, windows: SWEEP.tried.cells, expected: 1 } as const
    expect(sweepAnswer(swept({ log_q: 0.01 }, { log }))).toMatch(/beats chance \(q < \.05\)\. Tested together/)
  })

  it('names the q of the sweep alone where the log takes the finding back', () => {
    const log = { family: 'ledger', questions: 40, windows: SWEEP.tried.cells + 170, expected: 10 } as const
    const sweep = swept({ log_q: 0.31 }, { log })
    const cells = sweep.cells.map(cell => ({ ...cell, verdict: 'not told from chance' as const }))
    expect(sweepAnswer({ ...sweep, cells })).toMatch(
      /^Not told from chance: none of \d+ tested combinations \(q < \.05 over all questions\)\. The smallest q is \.010 in this table, and \.310 with the 170 other windows tested on these data \(bands trials\)\./,
    )
  })

  it('is decided only by q, and adds whether all together beat chance', () => {
    const { best } = SWEEP
    const spa = { lower: 0.3, consistent: 0.31, upper: 0.4 }
    const answer = sweepAnswer(swept({}, { best: { ...best, spa, reality_check: 0.9 } }))
    expect(answer).toMatch(
      /^1 of \d+ tested combinations beats chance \(q < \.05\)\. Tested together they are not told from chance \(SPA p \.310\)\./,
    )
    expect(answer).not.toContain('reality')
    expect(sweepAnswer(swept({ p: 0.02, q: 0.4 }))).toMatch(
      /^Not told from chance: none of \d+ tested combinations \(q < \.05\)\. Tested together they differ from chance \(SPA p \.\d+\): some effect is there, but no single combination is certain\./,
    )
  })

  it('says so where p is not corrected', () => {
    const answer = sweepAnswer(swept({ q: 0.0002 }, { adjust: 'none' }))
    expect(answer).toMatch(/\(p < \.05, not corrected: chance gives about \d+\)/)
  })

  it('reports the results of chosen combinations on other dates', () => {
    const test = { n: 40, mean: 0.01, base: 0.02, diff: -0.01, hit: 0.5 }
    const on = { from: '2016-01-04', to: '2018-02-07', events: 40 }
    const answer = (...chosen: string[]): string => {
      const fold = { name: 'split', train: [on], test: [on], purged: 0, chosen, train_mean: 0.02, test_mean: 0.01 }
      return sweepAnswer(swept({}, { validation: { kind: 'split', folds: [fold, fold], test, paths: null } }))
    }
    expect(answer('rsi_zone = oversold; 20d (short)')).toMatch(
      / On the test days the chosen rsi_zone = oversold, 20d \(short\) made \+1\.0%; shorting on any day made \+2\.0% \(difference -1\.0 point\)\.$/,
    )
    expect(answer('a = b, 5d', 'a = c, 5d')).toMatch(
      / On the test days the 2 combinations chosen in training made \+1\.0%; any day made \+2\.0% \(difference -1\.0 point\)\.$/,
    )
    expect(answer('a = b, 5d', 'a = c, 5d (short)')).toMatch(
      / the 2 combinations chosen in training \(1 short\) made \+1\.0%; the same trades on any day made \+2\.0% /,
    )
  })

  it('says so where nothing was tested, or nothing happened', () => {
    const cells = SWEEP.cells.map(cell => ({ ...cell, p: null, q: null }))
    expect(sweepAnswer({ ...SWEEP, cells })).toMatch(/^Too few: none of \d+ combinations has enough independent cases/)
    expect(sweepAnswer({ ...SWEEP, cells: [] })).toBe('No such event, so there is nothing to compare.')
  })
})

describe('the answer of a tally', () => {
  it('compares both shares with any bar', () => {
    expect(tallyAnswer(madeTally())).toBe(
      '20 days later up in 55% (any day: 55%), among the best 40% of its own past in 43% (any day: 38%).',
    )
  })

  it('chooses none of several groups, and says where there is nothing', () => {
    expect(tallyAnswer(madeTally(['oversold', 'overbought']))).toBe(
      '200 events in 2 groups; a tally makes no test: bands study does.',
    )
    expect(tallyAnswer({ ...madeTally(), events: 0, groups: [] })).toBe('No such event, so there is nothing to count.')
  })
})
