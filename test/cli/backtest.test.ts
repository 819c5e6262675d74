import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Backtest } from '../../src/research/backtest/result.js'
import { firstInQuick, notInQuick } from '../support/full.js'
import { bundledBars, typed } from './support/run.js'

const { folder, ask, json, table, told } = bundledBars()
const run = (line: string): Promise<Backtest> => json(line)
const shown = (line: string): Promise<string> => table(line, 120)
const flowing = (text: string): string => text.replace(/\s+/g, ' ')

const LEAST = 'backtest AAPL rsi_zone --band oversold --tests "draws 0"'
const HOLDING = `${LEAST} --hold 20`
const CHOOSING = `${LEAST} --hold 5,20 --validate "walk-forward train=504,test=252"`

const BACKTEST = 'backtest AAPL rsi_zone --band oversold --hold 20 --tests "draws 99"'
const lines = (file: string): string[] => readFileSync(folder.file(file), 'utf8').trimEnd().split('\n')

describe('bands backtest', () => {
  test('shows in the table what JSON holds', async () => {
    const { statistics, benchmarks, trade_statistics: trades, signals } = await json<Backtest>(BACKTEST)
    const text = await table(`${BACKTEST} --wide`)
    const percent = (value: number | null): string => `${value! < 0 ? '' : '\\+'}${(value! * 100).toFixed(1)}%`
    expect(text).toMatch(
      new RegExp(
        `^total return +${percent(statistics.total_return)} +${percent(benchmarks[0]!.statistics.total_return)} +${percent(benchmarks[1]!.statistics.total_return)}$`,
        'm',
      ),
    )
    expect(text).toContain(`${trades.n} trades: ${trades.wins} won`)
    expect(text).toContain(`${signals.total} signals: ${signals.closed} closed trades`)
    expect(text).toMatch(/^equity +[▁-█]+ {2}first 1\.00, last /m)
    expect(text).toMatch(/^drawdown +[▁-█]+ {2}worst -/m)
    expect(text.replace(/\s+/g, ' ')).toContain('Fills at the next open, 5 bp a side; out after 20 bars.')
  })

  test('has a row per trade for machines, and shows every signal on request', async () => {
    const found = await json<Backtest>(BACKTEST)
    expect((await ask(`${BACKTEST} --csv`)).out.trimEnd().split('\n')).toHaveLength(found.trades.length + 1)
    const text = await table(`${BACKTEST} --explain all`, 120)
    for (const { signal_date } of found.trades) expect(text).toMatch(new RegExp(`^${signal_date} `, 'm'))
    for (const { date } of found.skipped) expect(text).toMatch(new RegExp(`^${date} .*skipped: `, 'm'))
  })

  test('shows the signals of a ticker and a day, and where there is none the nearest', async () => {
    const { trades, skipped } = await json<Backtest>(BACKTEST)
    const dates = [...trades.map(({ signal_date }) => signal_date), ...skipped.map(({ date }) => date)].toSorted()
    const shown = async (which: string): Promise<string[]> =>
      (await table(`${BACKTEST} --explain ${which}`, 120)).match(/^\d{4}-\d\d-\d\d(?= {2}AAPL)/gm) ?? []
    expect(await shown('AAPL')).toEqual(dates)
    expect(await shown(`AAPL,${dates[1]}`)).toEqual([dates[1]])
    expect(await table(`${BACKTEST} --explain 2013-06-01`, 120)).toContain(
      `No signal on 2013-06-01. The nearest: ${dates.find(date => date > '2013-06-01')}.`,
    )
    const { code, err } = await ask(`${BACKTEST} --explain AAPL,GSPC`)
    expect([code, err.split('\n').at(-2)]).toEqual([2, `  try:   bands ${BACKTEST.replaceAll('"', "'")} --explain all`])
  })

  notInQuick('writes all tickers as one word, which means those that are loaded', async () => {
    const rules = 'backtest --all rsi_zone --band oversold --hold 5 --tests "draws 99"'
    const { out } = await ask(`${rules} --print-config`)
    expect(out).toContain('\ntickers: all\n')
    writeFileSync(folder.file('all.yaml'), out)
    const ran = (await ask(`${rules} --json`)).out
    expect((await ask(`backtest ${folder.file('all.yaml')} --tests "draws 99" --json`)).out).toBe(ran)
    expect(await json(`backtest ${folder.file('all.yaml')} --tickers AAPL --tests "draws 0"`)).toMatchObject({
      tickers: ['AAPL'],
    })
  })

  test('prints the strategy file that makes the same run', async () => {
    const rules =
      '--exit leave --stop 5% --trailing 2atr --side long --max-positions 3 --portfolio "risk-free 1%" --benchmark GSPC'
    const printed = await ask(`${BACKTEST} ${rules} --print-config`)
    expect(printed.code).toBe(0)
    writeFileSync(folder.file('strategy.yaml'), printed.out)
    const ran = (await ask(`${BACKTEST} ${rules} --json`)).out
    expect((await ask(`backtest ${folder.file('strategy.yaml')} --tests "draws 99" --json`)).out).toBe(ran)
    expect((await ask(`backtest ${folder.file('strategy.yaml')} --print-config`)).out).toBe(printed.out)
    writeFileSync(folder.file('strategy.json'), (await ask(`${BACKTEST} ${rules} --print-config --json`)).out)
    expect((await ask(`backtest ${folder.file('strategy.json')} --tests "draws 99" --json`)).out).toBe(ran)
    expect((await ask(`${BACKTEST} --print-config --csv`)).code).toBe(2)
  })

  test('reports the position of a fault in a file, and the option of a faulty value', async () => {
    writeFileSync(
      folder.file('wrong.yaml'),
      'tickers: AAPL\nentry:\n  field: rsi_zone\n  bands: oversol\nexit:\n  hold: 5\n',
    )
    const wrong = await ask(`backtest ${folder.file('wrong.yaml')}`)
    expect(wrong.code).toBe(5)
    expect(wrong.err.replace(/\s+/g, ' ')).toMatch(/wrong\.yaml:4:10: .*Did you mean "oversold"\?/)
    const option = await ask(`backtest ${folder.file('wrong.yaml')} --band oversold --hold 0`)
    expect(option.code).toBe(2)
    expect(option.err).toContain('--hold "0" is not an integer from 1')
    expect((await ask('backtest nothing-here.yaml')).code).toBe(3)
  })

  test('writes trades and equity to files', async () => {
    const found = await json<Backtest>(BACKTEST)
    await ask(`${BACKTEST} --write trades=${folder.file('trades.csv')} --write equity=${folder.file('equity.csv')}`)
    expect(lines('trades.csv')).toHaveLength(found.trades.length + 1)
    expect(lines('equity.csv')[0]).toBe('date,equity,gross,positions,drawdown,rolling_sharpe,rolling_volatility')
    expect(lines('equity.csv')).toHaveLength(found.equity.length + 1)
  })
})

describe('the rules of a backtest in words', () => {
  const WORDS = [
    ['--costs "2bp,slip 3bp"', '5 bp a side (3 bp of it slippage); out after 20 bars.'],
    ['--costs "fixed 1"', '5 bp a side and 1 a fill;'],
    ['--side short --costs "borrow 3%"', '5 bp a side and 3% a year for borrowed shares;'],
    ['--costs "borrow 3%"', '5 bp a side; out'],
    ['', 'At most 1 position, all of the equity;'],
    ['--max-positions 10', 'At most 10 positions, each 1/10 of the equity;'],
    [
      '--max-positions 1 --portfolio "whole-shares, capital 9999"',
      'At most 1 position, all of the equity, whole shares;',
    ],
    ['--size 30%', 'each 30% of the equity;'],
    ['--size "vol 15%"', 'each a share of the equity for a volatility of 15% a year, at most 100%;'],
    ['--size "vol 15% max 50%"', 'each a share of the equity for a volatility of 15% a year, at most 50%;'],
    ['--portfolio "cash 3%"', 'Cash earns 3% a year.'],
    ['--context GSPC:trend_direction=uptrend', 'while GSPC trend_direction = uptrend'],
    ['--context GSPC:trend_direction=uptrend --context-lag 1', 'while GSPC trend_direction = uptrend a bar before'],
  ] as const

  test.each(firstInQuick(WORDS, 3))('say with "%s": %s', async (options, words) => {
    expect(flowing(await shown(`${HOLDING} ${options} --wide`))).toContain(words)
  })

  notInQuick('say what each share costs as it was traded, which adjusted prices do not know', async () => {
    const cost = '--costs "share 0.01,fixed 1"'
    expect(flowing(await shown(`${HOLDING.replace('AAPL', 'GSPC')} ${cost}`))).toContain('5 bp a side and 0.01 a share')
    expect(await told(`${HOLDING} ${cost}`)).toContain('--costs share 0.01: the prices of AAPL are adjusted')
  })
})

describe('with parts of the data reserved', () => {
  test('it is about the tests only; --wide shows all data after them, under their name', async () => {
    const { validation, statistics } = await run(CHOOSING)
    const text = await shown(CHOOSING)
    const total = (value: number | null): string => `${(value! * 100).toFixed(1)}%`
    expect(text).toMatch(/^Out of sample +all 3 tests, one after the other/m)
    expect(text).toContain(total(validation!.test!.statistics.total_return))
    expect(text).not.toContain('BUY & HOLD')
    expect(text).not.toContain(total(statistics.total_return))
    expect(flowing(text)).toContain('out after 5 bars (the first candidate; each training part chose its own);')
    expect(text).toMatch(/^1 train .* hold (5|20)$/m)
    const [before = '', after = ''] = (await shown(`${CHOOSING} --wide`)).split(
      'All data, first of 2 candidates (hold 5)',
    )
    expect(before).toMatch(/^Out of sample /m)
    expect(after).toContain('Trades, all data')
    expect(after).toContain(total(statistics.total_return))
  })

  test('of a walk-forward with room for one test says so', async () => {
    const text = await shown(`${HOLDING} --validate "walk-forward train=900,test=600"`)
    expect(text).toMatch(/^Out of sample +the only test +2/m)
    expect(text).toMatch(/^1 test /m)
    expect(text).not.toMatch(/^2 test /m)
  })

  test('of one strategy only says that the tests are among all data', async () => {
    const text = await shown(`${HOLDING} --validate "split 2016-01-04"`)
    expect(text).toMatch(/^Out of sample +the part after the split +2016-01-04 to /m)
    expect(text).not.toContain('All data')
    expect(await shown(`${HOLDING} --validate "split 2016-01-04" --wide`)).toContain(
      'All data   the days of the tests included',
    )
    expect(text).not.toContain('CHOSEN')
  })

  test('the strategy file says what it does not hold', async () => {
    const yaml = await ask(`${CHOOSING} --print-config`)
    expect(yaml.out.split('\n')[0]).toBe(
      '# not in this file, to be given with it again: the candidates (hold 5; hold 20) and the walk-forward (train=504,test=252,step=252)',
    )
    writeFileSync(folder.file('one.yaml'), yaml.out)
    expect((await ask(`backtest ${folder.file('one.yaml')} --print-config`)).out).toBe(
      yaml.out.slice(yaml.out.indexOf('\n') + 1),
    )
    const { out, err } = await ask(`${HOLDING} --validate "split 2016-01-04" --print-config --json`)
    expect(JSON.parse(out)).toMatchObject({ exit: { hold: 20 } })
    expect(flowing(err)).toContain('to be given with it again: the split at 2016-01-04')
    expect((await ask(`${HOLDING} --print-config`)).out).not.toContain('#')
  })
})

describe('the family of the deflated Sharpe ratio', () => {
  test('is the run; the trial log deflates on request', async () => {
    await ask(HOLDING)
    await ask(`${LEAST} --hold 10`)
    const { trials } = await run(HOLDING)
    expect(trials).toMatchObject({ run: 1, family: 'run', n: 1, deflated_sharpe: null })
    expect(flowing(await shown(`${HOLDING} --wide`))).toContain(
      `the ledger knows ${trials.ledger}, and family "ledger" deflates by them.`,
    )
    const { trials: all } = await run(`${HOLDING} --family ledger`)
    expect(all).toMatchObject({ run: 1, ledger: trials.ledger, family: 'ledger', n: trials.ledger })
    expect(all.deflated_sharpe).toBeGreaterThan(0)
    expect(flowing(await shown(`${HOLDING} --family ledger --wide`))).toContain(
      `by the ${trials.ledger} of the ledger.`,
    )
  })

  test('cannot be a ledger that the sample does not have', async () => {
    const { code, err } = await typed(`${HOLDING} --family ledger`)
    expect([code, flowing(err)]).toEqual([
      2,
      expect.stringContaining('--family "ledger" cannot be: there is no trial log'),
    ])
  })
})

test('turnover says that it counts both sides', async () => {
  expect(await shown(`${HOLDING} --wide`)).toMatch(/^two-sided turnover +\d/m)
})

test('the curve is logarithmic, and says so', async () => {
  expect(await shown(`${HOLDING} --wide`)).toMatch(/^Equity +dots: buy and hold +logarithmic scale$/m)
  writeFileSync(folder.file('TEN.csv'), tenfold())
  await ask(`import ${folder.file('TEN.csv')}`)
  expect(await shown('backtest TEN rsi_zone --hold 5 --tests "draws 0" --wide')).toMatch(
    /^Equity +dots: buy and hold +logarithmic scale$/m,
  )
  const text = await shown('backtest TEN rsi_zone --hold 5 --tests "draws 0"')
  expect(text).toMatch(/^total return .* \+[1-9],\d{3}\.\d% /m)
})

/** Prices that rise a hundredfold in 600 days. */
function tenfold(): string {
  const start = Date.UTC(2015, 0, 1)
  const rows = Array.from({ length: 600 }, (_, i) => {
    const price = (100 * 100 ** (i / 599) * (1 + 0.05 * Math.sin(i / 3))).toFixed(4)
    return `${new Date(start + i * 86_400_000).toISOString().slice(0, 10)},${price},${price},${price},${price},1000`
  })
  return `date,open,high,low,close,volume\n${rows.join('\n')}\n`
}

describe('refusals use the words of the author', () => {
  test.each([
    [`${HOLDING} --size vol`, '--size "vol" is not equal, a share of the equity such as 10%, or a volatility'],
    [`${HOLDING} --size 110%`, '--size "110%" is not a fraction above 0, up to 1'],
    [`${HOLDING} --size "vol 10% max 3"`, '--size "3" is not a fraction'],
    [`${HOLDING} --costs much`, '--costs "much" is not parts such as 5bp,slip 2bp'],
    [`${HOLDING} --costs 5bp,2bp`, 'is not parts such as 5bp,slip 2bp,share 0.005,fixed 1,borrow 3%, each once.'],
    [`${LEAST} --hold 5,20`, '--hold "5,20" names candidates. To compare them give'],
    [LEAST, 'nothing ends a trade; give one of --hold, --exit leave, --stop, --target, --trailing.'],
    [`${HOLDING} --exit oversol`, '--exit "oversol" is not leave, a band of rsi_zone, or a condition such as'],
    [`${HOLDING} --exit oversold --exit overbought`, '--exit overbought: there is one such rule already'],
    [`${HOLDING} --stop 150%`, '--stop is 150 % of the entry price, which leaves no price; it must be below 100 %.'],
    [
      'backtest x.yaml SPY rsi_zone',
      'its field is in the file, so leave out rsi_zone; give tickers with --tickers SPY.',
    ],
    [`${HOLDING} --vary stop=none,5% --benchmark GSPC`, '--benchmark is of one strategy, and --vary makes many'],
    [`${HOLDING} --vary stop=none,5%`, '--tests draws is of one strategy, and --vary makes many'],
    [`${HOLDING} --family all`, '--family "all" is not one of run, ledger'],
  ])('%s', async (line, sentence) => {
    expect(await told(line)).toContain(sentence)
    expect((await ask(line)).code).toBe(2)
  })

  test('a file that is not there is no question of tickers', async () => {
    expect(await told('backtest nofile.yaml')).toBe(
      'error: there is no file nofile.yaml. try: bands backtest --all rsi_zone --hold 20 ',
    )
  })

  test('a fault in a file is named by its keys', async () => {
    const rest = 'tickers: AAPL\nentry: { field: rsi_zone }\n'
    const says = async (text: string): Promise<string> => {
      writeFileSync(folder.file('odd.yaml'), rest + text)
      return told(`backtest ${folder.file('odd.yaml')}`)
    }
    expect(await says('exit: { hold: 5 }\ncosts: [5]\n')).toContain(
      'a mapping of bps, slippage_bps, per_share, fixed, borrow',
    )
    expect(await says('exit: { hold: 5 }\ncosts: { slipage_bps: 5 }\n')).toContain('Did you mean "slippage_bps"?')
    expect(await says('exit: {}\n')).toContain('give one of hold, when, stop, target, trailing')
  })
})
