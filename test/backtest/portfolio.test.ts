import { describe, expect, it } from 'vitest'
import { InvalidParameter, NotFound } from '../../src/core/errors.js'
import type { PricedSource } from '../../src/core/source.js'
import { backtest } from '../../src/research/backtest/backtest.js'
import type { Backtest } from '../../src/research/backtest/result.js'
import { flat, type MadeBar, type MadeTicker, madeMarket, PLAIN, strategyWith } from './support/made-market.js'

const near = (value: number) => expect.closeTo(value, 12)
const DIP = { rsi_zone: 'ddaaaaaaaaaa' }

function run(tickers: Record<string, MadeTicker>, document: Record<string, unknown> = {}): Promise<Backtest> {
  return backtest(madeMarket(tickers), strategyWith({ tickers: Object.keys(tickers), ...document }), PLAIN)
}

/** Three tickers with the same signal, of prices that only their names tell apart. */
function three(): Record<string, MadeTicker> {
  return {
    C: { bars: flat(30, 8), bands: DIP },
    A: { bars: flat(10, 8), bands: DIP },
    B: { bars: flat(20, 8), bands: DIP },
  }
}

describe('places', () => {
  describe('with a rank', () => {
    /** The band of each before and on the bar of its signal; `.` is none. */
    const ranked = (bands: Record<'A' | 'B' | 'C', string>): Record<string, MadeTicker> =>
      Object.fromEntries(
        Object.entries(three()).map(([name, of]) => {
          return [name, { ...of, bands: { ...of.bands, trend_direction: bands[name as 'A'] } }]
        }),
      )
    const taken = async (tickers: Record<string, MadeTicker>, document: Record<string, unknown>): Promise<string> => {
      const { trades } = await run(tickers, { portfolio: { max_positions: 2 }, ...document })
      return trades.map(({ ticker }) => ticker).join('')
    }

    it('go to the last of its bands, with a minus to the first, whatever the bars before and after say', async () => {
      const tickers = ranked({ A: 'ccacccc', B: 'aabaaaa', C: 'aacaaaa' })
      expect(await taken(tickers, { rank: 'trend_direction' })).toBe('BC')
      expect(await taken(tickers, { rank: '-trend_direction' })).toBe('AB')
      const found = await run(tickers, { rank: '-trend_direction', portfolio: { max_positions: 1 } })
      const strong = 'strong_downtrend'
      const plain = 'downtrend'
      const none = 'neutral'
      expect(found.trades.map(({ ticker, rank }) => [ticker, rank])).toEqual([['A', strong]])
      expect(found.skipped.map(({ ticker, rank }) => [ticker, rank])).toEqual([
        ['B', plain],
        ['C', none],
      ])
      expect(found.ranking).toEqual({
        by: 'trend_direction',
        first: 'lowest',
        contested_days: 1,
        tied_days: 0,
        without_rank: 0,
      })
      expect(found.warnings).toContain(
        '2 of 3 signals found no place; on 1 day the rank chose which: the lowest trend_direction first',
      )
    })

    it('go last to a signal without a value, and among equal ones at random, which is told', async () => {
      expect(await taken(ranked({ A: '...aaaa', B: 'aaaaaaa', C: 'aaaaaaa' }), { rank: 'trend_direction' })).toBe('BC')
      expect(await taken(ranked({ A: '...aaaa', B: 'aaaaaaa', C: 'aaaaaaa' }), { rank: '-trend_direction' })).toBe('BC')
      const found = await run(ranked({ A: '.......', B: 'bbbbbbb', C: 'bbbbbbb' }), { rank: 'trend_direction' })
      expect(['B', 'C']).toContain(found.trades[0]!.ticker)
      expect(found.draws!.n).toBe(200)
      expect(found.ranking).toMatchObject({ contested_days: 1, tied_days: 1, without_rank: 1 })
      expect(found.warnings).toContain(
        'on 1 of 1 day signals of equal rank competed for a place: a random choice decided',
      )
      expect(found.warnings).toContain('1 signal had no trend_direction on its bar yet, and came last')
    })

    it('are told to compare levels where a later split would have changed their order', async () => {
      const told = async (rank: string): Promise<boolean> =>
        (await run(three(), { rank })).warnings.some(text => text.startsWith('the rank compares levels'))
      for (const rank of ['close', '-close', 'close - 5']) expect(await told(rank), rank).toBe(true)
      for (const rank of ['close / open', '-ago(close, 1) / close', 'trend_direction']) {
        expect(await told(rank), rank).toBe(false)
      }
    })

    it('change nothing where there are enough, which is told', async () => {
      const found = await run(three(), { rank: 'close', portfolio: { max_positions: 3 } })
      expect(found.trades.length).toBe(3)
      expect(found.warnings).toContain(
        'the rank decided nothing: on no day did several signals compete for a free place',
      )
    })
  })
})

describe('one ticker', () => {
  const bands = { rsi_zone: 'babababababa' }

  it('trades every signal with overlap: allow', async () => {
    const document = { exit: { hold: 4 }, overlap: 'allow', portfolio: { max_positions: 9 } }
    const { trades, signals, warnings } = await run({ A: { bars: flat(10, 12), bands } }, document)
    expect([trades.length, signals.pending]).toEqual([5, 1])
    expect(warnings).toContain('overlapping trades share bars, so that they are not as many independent ones')
  })
})

describe('the size of a position', () => {
  it('of whole shares leaves the rest in cash; too little for one is told', async () => {
    const portfolio = { capital: 1000, max_positions: 4, whole_shares: true }
    const tickers = { A: { bars: flat(99, 6), bands: DIP }, B: { bars: flat(400, 6), bands: DIP } }
    const { trades, skipped, equity, warnings } = await run(tickers, { portfolio })
    expect(trades.map(({ ticker, shares, invested }) => [ticker, shares, invested])).toEqual([['A', 2, 198]])
    expect(skipped.map(({ ticker, reason }) => [ticker, reason])).toEqual([['B', 'no_size']])
    expect(equity[3]!.gross).toBe(0.198)
    expect(warnings.join()).toContain('does not pay one whole share')
  })
})

describe('money', () => {
  it('is not paid for each share where prices are adjusted, whose shares nobody traded', async () => {
    const tickers = {
      A: { bars: flat(100, 8), bands: DIP },
      B: { bars: flat(100, 8), bands: DIP, adjustment: 'raw' },
    } as const
    const asked = run(tickers, { costs: { per_share: 0.01 } })
    await expect(asked).rejects.toThrow(InvalidParameter)
    await expect(asked).rejects.toThrow(/^costs share 0\.01: the prices of A are adjusted/)
    expect((await run({ B: tickers.B }, { costs: { per_share: 0.01 } })).trades.length).toBeGreaterThan(0)
  })

  it('of a ticker without a bar on a day stands at its last close', async () => {
    const held = { bars: [...flat(10, 3), [10, 12, 10, 12] as const, [12, 12, 12, 12] as const], bands: DIP }
    const longer = { bars: flat(5, 9), bands: { rsi_zone: 'd' } }
    const { equity, signals } = await run({ A: held, B: longer }, { exit: { hold: 50 } })
    expect(signals.open).toBe(1)
    expect(equity.map(point => point.equity)).toEqual([1, 1, 1, 1.2, 1.2, 1.2, 1.2, 1.2, 1.2].map(near))
  })
})

describe('a ticker whose bars end', () => {
  const short = { bars: flat(10, 10, { 9: [10, 11, 10, 11] }), bands: DIP }
  const later = { bars: flat(20, 30), bands: { rsi_zone: `${'d'.repeat(14)}${'a'.repeat(16)}` } }
  const document = { exit: { hold: 25 }, portfolio: { max_positions: 1 } }

  it('more than a week before the others do gives its place back: the trade ends at its last close', async () => {
    const { trades, equity, signals, warnings } = await run({ A: short, B: later }, document)
    expect(trades.map(({ ticker, exit, exit_date, exit_price }) => [ticker, exit, exit_date, exit_price])).toEqual([
      ['A', 'data_end', '2020-01-10', 11],
      ['B', 'open', '2020-01-30', 20],
    ])
    expect(signals).toMatchObject({ closed: 1, open: 1, skipped: {} })
    expect(equity.map(({ positions }) => positions)).toEqual([
      ...[0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0],
      ...Array.from({ length: 15 }, () => 1),
    ])
    expect(warnings).toContain(
      'the bars end, and no delisting says how: A on 2020-01-10; 1 trade ends at the last close (data_end)',
    )
  })

  it('at most a week before is open, and so is the newest of all', async () => {
    const found = await run({ A: short, B: { ...later, bars: flat(20, 17) } }, document)
    expect(found.trades.map(({ exit }) => exit)).toEqual(['open'])
    expect((await run({ A: short }, document)).trades.map(({ exit }) => exit)).toEqual(['open'])
  })
})

describe('a delisting', () => {
  const delisted = (day: string, price: number, hold: number) =>
    run({ A: { bars: flat(100, 6), bands: { rsi_zone: 'ddaaaa' }, delisting: { day, price } } }, { exit: { hold } })

  it('ends a trade on its day, at the final price', async () => {
    const { trades, equity } = await delisted('2020-01-10', 40, 20)
    const end = { exit: 'delisted', exit_date: '2020-01-10', exit_price: 40, gross: -0.6, mae: -0.6 }
    expect(trades).toMatchObject([end])
    expect(equity.at(-1)).toMatchObject({ date: '2020-01-10', equity: 0.4, positions: 0 })
  })

  it('does not touch a trade that was closed before it', async () => {
    const { trades } = await delisted('2020-01-06', 1, 3)
    expect(trades).toMatchObject([{ exit: 'hold', exit_date: '2020-01-06', exit_price: 100 }])
  })
})

describe('dates', () => {
  const bands = { rsi_zone: `${'d'.repeat(10)}${'a'.repeat(10)}${'d'.repeat(20)}${'a'.repeat(20)}` }
  const bars = Array.from({ length: 60 }, (_, t): MadeBar => [100 + t, 100 + t, 100 + t, 100 + t])
  const entry = { field: 'rsi_zone', bands: ['deep_oversold'] }

  it('that end the signals end the days, the benchmark and the interest with the last of their trades', async () => {
    const of = (before: string) => run({ A: { bars, bands } }, { entry: { ...entry, before }, exit: { hold: 5 } })
    // The signal is of the 11th, its trade ends on the 16th.
    for (const [before, last] of [
      ['2020-01-12', '2020-01-16'],
      ['2020-01-13', '2020-01-16'],
      ['2020-01-25', '2020-01-24'],
    ] as const) {
      const found = await of(before)
      expect([found.first, found.last], before).toEqual(['2020-01-01', last])
      expect([found.benchmarks[0]!.last, found.benchmarks[0]!.equity.length]).toEqual([last, found.equity.length])
      expect(found.signals).toMatchObject({ total: 1, closed: 1 })
    }
    expect((await of('2021-01-01')).last).toBe('2020-02-29')
  })

  it('give what the same bars give, cut to what the trades of these signals reach', async () => {
    const dated = { entry: { ...entry, after: '2020-01-05', before: '2020-01-12' }, exit: { hold: 5 } }
    const portfolio = { max_positions: 1, cash_rate: 0.03 }
    const whole = await run({ A: { bars, bands } }, { ...dated, portfolio })
    const cut = await run(
      { A: { bars: bars.slice(0, 16), bands: { rsi_zone: bands.rsi_zone.slice(0, 16) } } },
      { ...dated, portfolio },
    )
    expect(whole).toEqual(cut)
  })

  it('end the days where the last signal would have been filled, if it found no place', async () => {
    const tickers = { A: { bars, bands }, B: { bars, bands } }
    const cutOff = { ...entry, before: '2020-01-12' }
    const found = await run(tickers, { entry: cutOff, exit: { hold: 1 }, portfolio: { max_positions: 1 } })
    expect(found.signals).toMatchObject({ total: 2, closed: 1, skipped: { no_place: 1 } })
    expect(found.last).toBe('2020-01-12')
  })
})

describe('what is told of the equity', () => {
  it('are exposure, turnover, months and falls by their definitions', async () => {
    const bars = flat(100, 40, { 4: [100, 100, 80, 80], 5: [80, 80, 80, 80] })
    const found = await run({ A: { bars, bands: { rsi_zone: `dda${'a'.repeat(37)}` } } }, { exit: { hold: 3 } })
    const { statistics, months, drawdowns, equity } = found
    const mean = equity.reduce((sum, point) => sum + point.equity, 0) / 40
    expect(statistics).toMatchObject({ bars: 39, total_return: near(-0.2), max_drawdown: near(-0.2), exposure: 3 / 40 })
    expect(statistics.turnover).toEqual(near(((1 + 0.8) / mean) * (365 / 39)))
    expect(statistics.cagr).toEqual(near(0.8 ** (365 / 39) - 1))
    expect(months).toEqual([
      { year: 2020, month: 1, return: near(-0.2) },
      { year: 2020, month: 2, return: 0 },
    ])
    expect(drawdowns).toEqual([{ from: '2020-01-04', low: '2020-01-05', to: null, depth: near(-0.2), bars: 36 }])
  })

  it('has a reason for everything that is not defined', async () => {
    const { statistics, trade_statistics, random_entry, trials } = await run({
      A: { bars: flat(9, 9), bands: { rsi_zone: 'd' } },
    })
    expect(statistics.sharpe).toBeNull()
    expect(statistics.reasons).toMatchObject({ sharpe: 'the returns do not vary', calmar: 'the equity never fell' })
    expect(trade_statistics.reasons.mean).toBe('there is no closed trade')
    for (const part of [statistics, trade_statistics])
      for (const [key, value] of Object.entries(part)) if (value === null) expect(part.reasons[key], key).toMatch(/\w/)
    expect(random_entry).toEqual({ draws: 0, mean: null, p: null, better_than: null, reason: 'none were asked for' })
    expect(trials).toMatchObject({ run: 1, ledger: null, deflated_sharpe: null })
    expect(trials.reason).toMatch(/\w/)
  })
})

describe('ruin', () => {
  const delisted = (price: number) => ({
    bars: flat(10, 50),
    bands: { rsi_zone: `dda${'d'.repeat(47)}` },
    delisting: { day: '2020-02-25', price },
  })

  it('leaves no share of positions and no month behind it, and says why there is no statistic', async () => {
    const run = strategyWith({ exit: { stop: '50%' } })
    const { equity, months, statistics, warnings } = await backtest(madeMarket({ A: delisted(0) }), run, PLAIN)
    expect(equity.at(-1)).toMatchObject({ equity: 0, gross: null, drawdown: -1 })
    expect(months.map(month => month.return)).toEqual([0, -1])
    expect(statistics.reasons.sharpe).toBe('the equity fell to 0 or below')
    expect(warnings).toContain('the equity fell to 0 or below: the strategy was ruined')
  })

  it('is followed by no return of a month', async () => {
    const later = { bars: flat(10, 100), bands: { rsi_zone: 'd'.repeat(100) } }
    const tickers = { A: delisted(0), B: later }
    const run = strategyWith({ tickers: ['A', 'B'], exit: { stop: '50%' } })
    const { months, benchmarks } = await backtest(madeMarket(tickers), run, PLAIN)
    expect(months.map(month => month.return)).toEqual([0, -1, null, null])
    expect(benchmarks[0]!.reasons.beta).toBe('one of the two fell to 0')
  })
})

describe('the reference', () => {
  it('that is not there is refused before the work', async () => {
    const market = madeMarket({ A: { bars: flat(10, 9), bands: DIP } })
    const asked: string[] = []
    const watched: PricedSource = {
      ...market,
      async *bars(query) {
        asked.push(...query.tickers)
        if (query.tickers.includes('GONE')) throw new NotFound('there is no GONE.')
        yield* market.bars(query)
      },
    }
    await expect(backtest(watched, strategyWith({ benchmark: 'GONE' }), PLAIN)).rejects.toThrow('there is no GONE.')
    expect(asked).toEqual(['GONE'])
  })

  it('holds equal money in each ticker from its first bar, in cash before, at the final price after a delisting', async () => {
    const early = { bars: [10, 11, 12, 12, 13, 15].map((price): MadeBar => [price, price, price, price]), bands: DIP }
    const late = { ...early, start: '2020-01-03', delisting: { day: '2020-01-09', price: 5 } }
    const { benchmarks } = await run({ A: early, B: late })
    const [hold] = benchmarks
    expect(hold!.name).toBe('buy and hold')
    const of = (a: number, b: number) => near((a / 10 + b / 10) / 2)
    // Days of A alone, both, B alone, and the delisting of B.
    expect(hold!.equity).toEqual([
      of(10, 10),
      of(11, 10),
      of(12, 10),
      of(12, 11),
      of(13, 12),
      of(15, 12),
      of(15, 13),
      of(15, 15),
      of(15, 5),
    ])
  })

  it('judges a strategy that is the reference itself: beta 1, alpha 0', async () => {
    const bars = Array.from({ length: 60 }, (_, t): MadeBar => {
      // Nothing moves before the entry at the close of bar 1.
      const price = 100 + 10 * Math.sin(Math.max(1, t))
      return [price, price, price, price]
    })
    const found = await run(
      { A: { bars, bands: { rsi_zone: `d${'a'.repeat(59)}` } } },
      { fill: 'close', exit: { hold: 500 } },
    )
    const [hold] = found.benchmarks
    expect([hold!.beta, hold!.correlation, hold!.alpha]).toEqual([near(1), near(1), near(0)])
  })
})
