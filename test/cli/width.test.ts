import { writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstInQuick, QUICK } from '../support/full.js'
import { importBundledBars, scratch, typed, unpainted } from './support/run.js'

const folder = scratch()
const env = { BANDS_DB: folder.file('bands.db') }

const STRATEGIES = [5, 20].map(hold => folder.file(`hold-for-${hold}.yaml`))

beforeAll(async () => {
  for (const [i, hold] of [5, 20].entries())
    writeFileSync(
      STRATEGIES[i]!,
      `tickers: [AAPL]\nentry: {field: rsi_zone, bands: [oversold]}\nexit: {hold: ${hold}}\n`,
    )

  await typed('accounts create research --tier pro', { env })
  await typed('keys create research', { env })
  await importBundledBars(env.BANDS_DB)
})
afterAll(folder.remove)

const LINES = [
  'events AAPL rsi_zone',
  'events AAPL rsi_zone --band oversold',
  'events AAPL rsi_zone --band oversold --wide',
  'events AAPL rsi_zone --band oversold --returns',
  'events AAPL accumulation_state --timeframe weekly',
  'events AAPL rsi_zone --tier free',
  'events AAPL rsi_zone --context GSPC:trend_direction=strong_uptrend',
  'events AAPL rsi_zone --band deep_oversold --after 2018-05-10',
  'tally AAPL rsi_zone --band oversold',
  'tally AAPL rsi_zone --by stability',
  'tally rsi_zone --all --by prev_band',
  'now',
  'now AAPL',
  'transitions AAPL rsi_zone',
  'transitions AAPL macd_state --timeframe weekly',
  'transitions AAPL rsi_zone --context GSPC:trend_direction',
  'explain AAPL rsi_zone 2018-02-08',
  'explain AAPL valuation_zone',
  'show AAPL rsi_zone',
  'status',
  'status --problems',
  'verify',
  'rebuild',
  'fields',
  'doctor',
  'scan oversold --date 2018-02-08',
  'accounts list',
  'keys list',
  'accounts usage',
  'study GSPC rsi_zone --band oversold --wide --tests "naive, bootstrap 99, draws 99" --horizon 5,100',
  'study AAPL rsi_zone --band oversold --context GSPC:trend_direction=downtrend --tests "bootstrap 99, draws 99" --horizon 20',
  `compare ${STRATEGIES.join(' ')} --tests "bootstrap 99"`,
  `compare ${STRATEGIES.join(' ')} --tests "bootstrap 99" --wide`,
  'backtest AAPL rsi_zone --band oversold --hold 20 --tests "draws 9"',
  'sweep AAPL --field rsi_zone --horizon 5 --tests "bootstrap 99"',
  'trials',
  'check lookahead AAPL --field rsi_zone --cuts 2',
]

/** These take seconds. */
const SLOW_LINES = [
  `demo --report ${folder.file('demo.html')}`,
  'backtest AAPL,GSPC rsi_zone --band oversold --hold 5,20 --validate "walk-forward train=504,test=252" --wide --explain all --tests "draws 99"',
  'backtest GSPC rsi_zone --band oversold --hold 20 --tests "monte-carlo 99, draws 99"',
  'backtest GSPC rsi_zone --vary hold=5,10,20,40 --vary stop=none,2%,4%,8% --vary side=long,short --validate "split 2014-01-01" --wide',
  'sweep AAPL GSPC --by ticker --field rsi_zone --prev-band --horizon 5 --tests "bootstrap 99" --validate "split 2015-01-01"',
]

describe.each(firstInQuick([40, 80]))('on a terminal of %d columns', width => {
  test.each(QUICK ? LINES : [...LINES, ...SLOW_LINES])('no line of bands %s is longer', async line => {
    const ran = await typed(line, { env, terminal: width })
    expect(ran.code).toBe(0)
    // A path that cannot be broken stands in a line of its own, after the name of what it is. A command line to paste
    // stays whole, after its label.
    const lines = unpainted(`${ran.out}\n${ran.err}`)
      .split('\n')
      .filter(text => !/^[a-z ]+: bands /.test(text))
    expect(
      lines.filter(
        text =>
          [...text].length > width &&
          text
            .trim()
            .replace(/^(ok|warn|fail) +/, '')
            .split(/ +/).length > 2,
      ),
    ).toEqual([])
  })
})

test.each(['study', 'backtest', 'sweep', 'trials', 'check lookahead', 'transitions'])(
  'the help of bands %s keeps to 60 columns, but for lines to be pasted, and leads to the exit codes',
  async line => {
    const { out } = await typed(`${line} --help`, { env: { COLUMNS: '60' } })
    const long = out.split('\n').filter(text => text.length > 60 && !text.startsWith('  bands '))
    expect(long.filter(text => / .* /.test(text.trim()))).toEqual([])
    expect(out.replace(/\s+/g, ' ')).toContain('exit codes: bands help options')
  },
)

test('a long help stands under headings that share their columns', async () => {
  const { out } = await typed('backtest --help all')
  for (const heading of ['Which events are signals', 'Entry and exit', 'Costs and size', 'Portfolio', 'Tests'])
    expect(out).toMatch(new RegExp(`^${heading}\\n  --`, 'm'))
  const at = (flag: string): number => {
    const found = new RegExp(`^  ${flag} +`, 'm').exec(out)!
    return found[0].length
  }
  expect(at('--side SIDE')).toBe(at('--costs COSTS'))
})

test('COLUMNS counts more than the terminal, and less than 40 is 40', async () => {
  const long = (text: string): number =>
    Math.max(
      ...unpainted(text)
        .split('\n')
        .map(line => line.length),
    )
  const line = 'events AAPL rsi_zone --band oversold'
  expect(long((await typed(line, { env: { ...env, COLUMNS: '50' }, terminal: 120 })).out)).toBeLessThanOrEqual(50)
  expect(long((await typed(line, { env, terminal: 10 })).out)).toBeGreaterThan(10)
})

test('omitted columns are named', async () => {
  expect((await typed('events AAPL rsi_zone', { env, terminal: 60 })).out).toMatch(/FROM, STABILITY, FLIPS hidden/)
})
