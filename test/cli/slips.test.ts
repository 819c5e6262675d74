import { writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { firstInQuick, notInQuick } from '../support/full.js'
import { bundledBars, run, wordsOf } from './support/run.js'
import { isPasteable, lastLine } from './support/slips.js'

const { ask, folder } = bundledBars()
const env = { BANDS_DB: folder.file('bands.db') }

beforeAll(async () => {
  expect((await ask('watch add tech AAPL')).code).toBe(0)
  expect((await ask("conditions add dip 'rsi_zone = oversold'")).code).toBe(0)
})

/** Mistakes that have misled people, and the line that each ends with. */
const SLIPS = [
  ['tally rsi_zone oversold', 'tally --all rsi_zone --band oversold'],
  ['tally AAPL rsi_zone oversold', 'tally AAPL rsi_zone --band oversold'],
  ['now AAPL rsi_zone', 'now AAPL --field rsi_zone'],
  ['events AAPL rsi_zone --since 2017-01-01', 'events AAPL rsi_zone --after 2017-01-01'],
  ['events AAPL rsi_zone --from 2017-01-01', 'events AAPL rsi_zone --after 2017-01-01'],
  ['events AAPL rsi_zone --after 01/02/2017', 'events AAPL rsi_zone --after 2017-02-01'],
  ['search rsi', 'fields rsi_zone'],
  ['search AAPL', 'status AAPL'],
  ['add AAPL', 'watch add mine AAPL'],
  ['watch tech', 'watch show tech'],
  ['scan oversold --min-size=large', "scan oversold --filter 'min size large'"],
  [
    'backtest AAPL rsi_zone --hold 20 --split 2015-01-02',
    "backtest AAPL rsi_zone --hold 20 --validate 'split 2015-01-02'",
  ],
  ['scan overbought', "screen 'rsi_zone = overbought'"],
  ['now AAPL --as-of 08.02.2018', 'now AAPL --as-of 2018-02-08'],
  ['backtest AAPL rsi_zone', 'backtest AAPL rsi_zone --hold 20'],
  ['backtest AAPL rsi_zone --band oversold', 'backtest AAPL rsi_zone --band oversold --hold 20'],
  ['alert rsi_zone', "screen 'rsi_zone = oversold'"],
  ['charts AAPL', 'show AAPL rsi_zone'],
  ['manual', 'help all'],
  ['transitions AAPL rsi_zone --band', 'transitions AAPL rsi_zone'],
  ['transitions AAPL rsi_zone --band oversold', 'transitions AAPL rsi_zone'],
  ['events rsi_zone AAPL --band oversold', 'events AAPL rsi_zone --band oversold'],
  ['events AAPL rsi_zone --band uptrend', 'events AAPL trend_direction --band uptrend'],
  ['events --band oversold AAPL', 'events AAPL rsi_zone --band oversold'],
  ['now --field rsi_zone --band overs', 'now --field rsi_zone --band oversold'],
  ['tally AAPL --band rsi_zone', 'tally AAPL rsi_zone --band oversold'],
  ['changes AAPL', 'changes --tickers AAPL'],
  ['evnts AAPL rsi_zone', 'events AAPL rsi_zone'],
  ['backtest AAPL rsi_zone --costs 10 bp --hold 20', 'backtest AAPL rsi_zone --costs 10bp --hold 20'],
  ["events AAPL --when 'oversold = rsi_zone'", "events AAPL --when 'rsi_zone = oversold'"],
  [
    "events AAPL --when 'rsi_zone = oversold, trend_direction = uptrend'",
    "events AAPL --when 'rsi_zone = oversold and trend_direction = uptrend'",
  ],
  ['changes --since yesterday', 'changes --since 2018-05-10'],
  ['changes --since 1w', 'changes --since 2018-05-04'],
  ['changes --since 5', 'changes --since 2018-05-04'],
  ['changes --since monday', 'changes --since 2018-05-07'],
  ['now AAPL --since "3 months ago"', 'now AAPL --since 2018-02-11'],
  ['events AAPL rsi_zone --after december', 'events AAPL rsi_zone --after 2017-12-01'],
  [
    "study AAPL --when 'rsi_zone enters strongly_oversold and volume_ratio_band = verylow'",
    "study AAPL --when 'rsi_zone enters oversold and volume_ratio_band = low'",
  ],
  [
    "screen 'trend_direction = bullish and rsi_zone = oversold'",
    "screen 'trend_direction = uptrend and rsi_zone = oversold'",
  ],
  [
    'tally AAPL rsi_zone --context AAPL:trend_direction=bearish',
    'tally AAPL rsi_zone --context AAPL:trend_direction=downtrend',
  ],
  ['export event --tickers AAPL --field rsi_zone', 'export events --tickers AAPL --field rsi_zone'],
  ['sweep --all rsi_zone', 'sweep --all --field rsi_zone'],
  ['sweep --horizon 5', 'sweep --horizon 5 --all'],
  ['backtest AAPL rsi_zone --hold 20 --stop 5', 'backtest AAPL rsi_zone --hold 20 --stop 5%'],
  ['backtest AAPL rsi_zone --hold 20 --csot none', 'backtest AAPL rsi_zone --hold 20 --costs none'],
  ['backtest AAPL rsi_zone --hold 20 --fees 10bp', 'backtest AAPL rsi_zone --hold 20 --costs 10bp'],
  ['backtest AAPL rsi_zone --hold 20 --stoploss 5%', 'backtest AAPL rsi_zone --hold 20 --stop 5%'],
  ['tally aapl RSI --band oversold', 'tally aapl rsi_zone --band oversold'],
  ['events AAPL rsi_zone --after 2016-02-30', 'events AAPL rsi_zone --after 2016-02-29'],
  ['events AAPL rsi_zone --after "Feb 2016"', 'events AAPL rsi_zone --after 2016-02-01'],
  ['events AAPL rsi_zone --after "March 9, 2016"', 'events AAPL rsi_zone --after 2016-03-09'],
  ['events AAPL rsi_zone --after "9 march 2016"', 'events AAPL rsi_zone --after 2016-03-09'],
  ['help studdy', 'help study'],
  ['watch AAPL GSPC', 'watch add mine AAPL GSPC'],
  ["screen --when 'macd_state = expanding_positive'", "screen 'macd_state = expanding_positive'"],
  ['screen --when=rsi_zone=overbought', 'screen rsi_zone=overbought'],
  ['screen dip', 'screen @dip'],
  ['tally --all --when dip', 'tally --all --when @dip'],
  ["study --all --when @dip --validate 'split 2016-01-01'", 'study --all --when @dip'],
  ["screen 'rsi < 30'", "screen 'rsi_zone = oversold'"],
  ["screen 'support_status = near'", "screen 'support_status = approaching'"],
  ['watch add mine --when rsi_zone=oversold', 'watch add mine AAPL'],
  ["screen 'sector = Energy'", 'status --wide'],
  ['events AAPL pe_vs_history', 'events AAPL pe_vs_historical'],
  ['rename AAPL GSPC', 'status GSPC'],
  ['watch add AAPL', 'watch add mine AAPL'],
  ["tally AAPL --when 'rsi_zone = oversold' --band foo", "tally AAPL --when 'rsi_zone = oversold'"],
  [
    "tally AAPL --when 'rsi_zone = oversold' --band false --horizon x",
    "tally AAPL --when 'rsi_zone = oversold' --band false --horizon 5,20",
  ],
  ['simulate 2 --bars 300 --end foo', 'simulate 2 --bars 300 --end 2017-01-03'],
  ['accounts create ann --tier gold', 'accounts create ann --tier free'],
  ['accounts add bob --tier free', 'accounts create bob --tier free'],
  ['keys new ann', 'keys create ann'],
  ['watch create mine AAPL', 'watch add mine AAPL'],
  ['watch delete mine', 'watch remove mine'],
  [
    'backtest AAPL rsi_zone --band oversold --hold 20 --explain 2016-13-01',
    'backtest AAPL rsi_zone --band oversold --hold 20 --explain all',
  ],
  ["tally --all --when 'rsi_zone = oversold and sector = Energy'", 'status --wide'],
] as const

test.each(firstInQuick(SLIPS, 14))('bands %s ends with bands %s', async (line, then) => {
  const { code, err } = await ask(line)
  expect([code, lastLine(err)]).toEqual([2, `bands ${then}`])
  expect(isPasteable(lastLine(err))).toBe(true)
  expect(await run(wordsOf(lastLine(err)).slice(1), { env })).toMatchObject({ code: 0 })
})

test('a field for a strategy file ends with the line that makes the file', async () => {
  const { code, err } = await ask('compare rsi_zone macd_state')
  expect([code, lastLine(err)]).toEqual([3, 'bands backtest --all rsi_zone --print-config --hold 20'])
  expect(await run(wordsOf(lastLine(err)).slice(1), { env })).toMatchObject({ code: 0 })
})

notInQuick(
  'a strategy file that is not there ends with one of nearly the same name, or the line that makes one',
  async () => {
    const file = folder.file('dip.yaml')
    const made = await run(wordsOf('backtest AAPL rsi_zone --band oversold --hold 5 --print-config'), { env })
    writeFileSync(file, made.out)
    const near = await ask(`backtest ${folder.file('dip.yml')}`)
    expect([near.code, lastLine(near.err)]).toEqual([3, `bands backtest ${file}`])
    for (const line of ['backtest none.yaml', 'compare none.yaml other.yaml']) {
      const { code, err } = await ask(line)
      expect(code).toBe(3)
      expect(lastLine(err)).toMatch(/^bands backtest --all rsi_zone /)
      expect(await run(wordsOf(lastLine(err)).slice(1), { env })).toMatchObject({ code: 0 })
    }
  },
)

const NO_STRATEGIES = [
  'tickers: [AAPL]\nentry: {field: rsi_zone, bands: [oversol]}\nexit: {hold: 5}\n',
  'tickers: [AAPL]\nentry: {when: rsi_zone oversold}\nexit: {hold: 5}\n',
  'tickers: [AAPL]\nentry: {field: rsi_zone}\nexit: {}\n',
  'tickers: [AAPL\n',
  '',
]

test.each(firstInQuick(NO_STRATEGIES, 2))(
  'the faulty strategy file %j ends in a line that prints a right one',
  async text => {
    const file = folder.file('faulty.yaml')
    writeFileSync(file, text)
    for (const line of [`backtest ${file}`, `backtest --tickers AAPL ${file}`, `compare ${file} ${file}`]) {
      const { code, err } = await ask(line)
      expect([code, err.split('\n').at(-2)]).toEqual([
        5,
        '  example: bands backtest --all rsi_zone --print-config --hold 20',
      ])
      const { out } = await run(wordsOf(lastLine(err)).slice(1), { env })
      writeFileSync(file, out)
      expect(await ask(`backtest ${file} --tests "draws 9"`)).toMatchObject({ code: 0 })
      writeFileSync(file, text)
    }
  },
)

test('a line about strategy files keeps them', async () => {
  const [a, b] = [folder.file('a.yaml'), folder.file('b.yaml')]
  for (const [i, file] of [a, b].entries())
    writeFileSync(file, (await ask(`backtest AAPL rsi_zone --band oversold --hold ${5 + i} --print-config`)).out)
  const lines = [
    [`compare ${a} ${b} --after 2018-01-01 --before 2017-01-01`, `compare ${a} ${b} --before 2017-01-01`],
    [`compare ${a} ${b} --after 2016-02-30`, `compare ${a} ${b} --after 2016-02-29`],
    [`compare ${a}`, 'backtest --all rsi_zone --print-config --hold 20'],
    [`backtest ${a} GSPC --hold 3`, `backtest ${a} --hold 3 --tickers GSPC`],
  ] as const
  for (const [line, then] of lines) {
    const { code, err } = await ask(line)
    expect([code, lastLine(err)]).toEqual([2, `bands ${then}`])
    expect(await run(wordsOf(lastLine(err)).slice(1), { env })).toMatchObject({ code: 0 })
  }
})

test.each([
  ['export events --all --partition-by ticker', 'export events --all --partition-by ticker --write events'],
  ['export facts --tickers AAPL', 'export facts --tickers AAPL --write facts'],
  ['keys revoke bands_4fQz81Lk_secret', 'keys list'],
  [
    'screen rsi_zone=oversold --webhook http://127.0.0.1:1/x',
    'screen rsi_zone=oversold --webhook http://127.0.0.1:1/x --allow-private',
  ],
])('bands %s ends with bands %s, which is not run here', async (line, then) => {
  const { code, err } = await ask(line)
  expect([code, lastLine(err)]).toEqual([2, `bands ${then}`])
})

test('a folder as a database is called one', async () => {
  const { code, err } = await run(wordsOf(`now AAPL --db ${folder.path}`))
  expect([code, lastLine(err)]).toEqual([6, `bands doctor --db ${folder.path}`])
  expect(err.replace(/\s+/g, ' ')).toContain('is a folder, and a database is a file')
})

test('a strategy file among tickers ends in the line that trades it', async () => {
  const file = folder.file('strategy.yaml')
  writeFileSync(file, (await ask('backtest AAPL rsi_zone --band oversold --hold 5 --print-config')).out)
  for (const command of ['check lookahead', 'sweep', 'study', 'now']) {
    const { code, err } = await ask(`${command} ${file}`)
    expect([code, lastLine(err)]).toEqual([2, `bands backtest ${file}`])
    expect(err.replace(/\s+/g, ' ')).toContain(`"${file}" is a strategy file, and tickers are expected here;`)
  }
})

test('a file of tickers without its @ ends in the line that has it', async () => {
  const file = folder.file('list.txt')
  writeFileSync(file, 'AAPL\n')
  for (const [before, after] of [
    ['now', '--field rsi_zone'],
    ['tally', 'rsi_zone --band oversold'],
  ]) {
    const { code, err } = await ask(`${before} ${file} ${after}`)
    expect([code, lastLine(err)]).toEqual([2, `bands ${before} @${file} ${after}`])
    expect(await run(wordsOf(lastLine(err)).slice(1), { env })).toMatchObject({ code: 0 })
  }
})

test('a sector that is typed as an option stays in the line, which the sample answers', async () => {
  for (const command of ['scan', 'scan oversold']) {
    const { err } = await run(wordsOf(`${command} --sector "Information Technology"`))
    expect(lastLine(err)).toBe("bands scan oversold --filter 'sector Information Technology'")
    expect(await run(wordsOf(lastLine(err)).slice(1))).toMatchObject({ code: 0 })
  }
})

test('a sector in a condition is called no field, and the line asks the same database', async () => {
  const { err } = await run(wordsOf(`screen 'sector = Energy' --db ${env.BANDS_DB}`))
  expect(err.replace(/\s+/g, ' ')).toContain(
    'when, column 1: a sector is not a field; name its tickers instead, which status lists with their sectors. try: ',
  )
  expect(lastLine(err)).toBe(`bands status --wide --db ${env.BANDS_DB}`)
})

test('a line that a refusal suggests keeps the typed --db', async () => {
  const { err } = await run(wordsOf(`now ZZZZ --db ${env.BANDS_DB}`))
  expect(err).toContain(`load more: bands import FILE.csv --db ${env.BANDS_DB}\n`)
  expect(lastLine(err)).toBe(`bands status --db ${env.BANDS_DB}`)
})

test('(none) of a table is refused as a context, and the line that remains has every band', async () => {
  const { code, err } = await ask('tally AAPL rsi_zone --context "GSPC:trend_direction=(none)"')
  expect([code, lastLine(err)]).toEqual([2, 'bands tally AAPL rsi_zone --context GSPC:trend_direction'])
  expect(err.split('\n  ')[0]!.replaceAll('\n', ' ')).toBe(
    'error: --context "GSPC:trend_direction=(none)" has no band: (none) counts the events before the first band of GSPC, which no context can name.',
  )
})

test('a date that can be read in two ways ends with both', async () => {
  const { err } = await ask('events AAPL rsi_zone --after 01/02/2017')
  expect(err).toContain(
    '  try:   bands events AAPL rsi_zone --after 2017-01-02\n  or:    bands events AAPL rsi_zone --after 2017-02-01\n',
  )
})

test.each([
  ['sweep --validate --all', '--validate needs a value, for example split 2017-01-03.'],
  ['export bars --tickers AAPL --write --wide', '--write needs a value.'],
  ['study AAPL rsi_zone --band --wide', '--band needs a value, for example oversold.'],
  ['events AAPL rsi_zone --limit', '--limit needs a value, for example 10.'],
  ['events AAPL rsi_zone --as-of --json', '--as-of needs a value, for example 2017-01-03.'],
])('bands %s takes no option for a value', async (line, sentence) => {
  const { code, err } = await ask(line)
  expect(code).toBe(2)
  expect(err.replace(/\s+/g, ' ')).toContain(sentence)
})
