import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CATALOGUE, TOP_WORDS } from '../../src/app/cli/catalogue.js'
import { COMMON_SLIPS, joinConditionWords } from '../../src/app/cli/command-suggestions.js'
import { parseWords } from '../../src/app/cli/program.js'
import { BUILT_IN_FIELDS, FIELDS } from '../../src/core/fields/index.js'
import { likelyFields } from '../../src/core/language/condition.js'
import { importBundledBars, run, scratch, typed } from './support/run.js'

const folder = scratch()
const env = { BANDS_DB: folder.file('bands.db') }

beforeAll(() => importBundledBars(env.BANDS_DB))
afterAll(folder.remove)

/** What a line is refused with: its sentence, and the line that it leads to. */
async function refused(line: string): Promise<[sentence: string, line: string]> {
  const { code, out, err } = await typed(line, { env })
  expect([code, out]).toEqual([2, ''])
  const [sentence = '', then = ''] = err.replaceAll('\n', ' ').split(/ +try: +/)
  return [sentence.replace('error: ', ''), then.trim()]
}

describe('a slip leads to the right word in one sentence', () => {
  test.each([
    ['rsi', 'there is no command "rsi": rsi_zone is the field.', 'bands now --field rsi_zone'],
    ['rsi_zone', 'there is no command "rsi_zone": rsi_zone is a field.', 'bands now --field rsi_zone'],
    ['trend AAPL', 'there is no command "trend": trend_direction is the field.', 'bands events AAPL trend_direction'],
    ['macd', 'there is no command "macd": macd_state is the field.', 'bands now --field macd_state'],
    ['oversold', 'there is no command "oversold": it is a band of rsi_zone.', 'bands scan oversold'],
    [
      'uptrend aapl',
      'there is no command "uptrend": it is a band of trend_direction.',
      'bands events aapl trend_direction --band uptrend',
    ],
    ['AAPL', 'there is no command "AAPL": if it is a ticker, a command comes before it.', 'bands now AAPL'],
    [
      'AAPL macd',
      'there is no command "AAPL": if it is a ticker, a command comes before it.',
      'bands events AAPL macd_state',
    ],
    ['list', 'there is no command "list": bands status lists the loaded data.', 'bands status'],
    [
      'report AAPL macd_state',
      'there is no command "report": bands study writes a page with --report FILE, and so does backtest.',
      'bands study AAPL macd_state --report report.html',
    ],
    [
      'grid AAPL rsi_zone --vary hold=2,3',
      'there is no command "grid": bands backtest tries every combination of values with --vary.',
      'bands backtest AAPL rsi_zone --vary hold=2,3',
    ],
    ['prices.csv', 'there is no command "prices.csv": bands import loads a file.', 'bands import prices.csv'],
    ['dip.yaml --json', null, null],
    [
      'fetch --db own.db',
      'TICKER is missing.   usage: bands fetch TICKER... --from PROVIDER',
      'bands fetch BTC-USD --from coinbase --db own.db',
    ],
    [
      'check dip.yaml',
      'there is no command "dip.yaml" of check: bands backtest runs a strategy.',
      'bands backtest --all rsi_zone --hold 20',
    ],
    [
      'events rsi_zone AAPL --band oversold',
      'rsi_zone is a field, and the field comes after the ticker.',
      'bands events AAPL rsi_zone --band oversold',
    ],
    [
      'backtest AAPL rsi_zone --band oversold --hold 20d',
      '--hold "20d" is not an integer from 1 to 10000: write only 20.',
      'bands backtest AAPL rsi_zone --band oversold --hold 20',
    ],
    [
      'tally AAPL rsi_zone --hold 20',
      'there is no option "--hold" of tally; backtest has one.',
      'bands backtest AAPL rsi_zone --hold 20',
    ],
    [
      'show AAPL --limit 5',
      'there is no option "--limit" of show; events, scan oversold, sweep, trials and more have one.',
      'bands show AAPL rsi_zone',
    ],
  ])('bands %s', async (line, sentence, then) => {
    if (sentence !== null) return expect(await refused(line)).toEqual([sentence, then])
    // For a machine the same as one line of JSON.
    const { code, err } = await typed(line, { env })
    expect([code, JSON.parse(err).param]).toEqual([2, 'command'])
  })

  test.each([
    ['events AAPL rsi', 'there is no field "rsi". Did you mean "rsi_zone"?', 'bands events AAPL rsi_zone'],
    ['events AAPL oversold', 'there is no field "oversold". Did you mean "rsi_zone"?', 'bands events AAPL rsi_zone'],
    [
      'now --field trend',
      'there is no field "trend". Did you mean "trend_direction"?',
      'bands now --field trend_direction',
    ],
    ['events AAPL rsi_zone --band uptrend', 'rsi_zone has no band "uptrend". It is one of trend_direction.', ''],
  ])('bands %s', async (line, sentence, then) => {
    const [said, next] = await refused(line)
    expect(said).toContain(sentence)
    expect(next).toContain(then)
  })
})

describe('a slip in a condition', () => {
  const refusedWords = async (...words: string[]): Promise<[sentence: string, line: string]> => {
    const { code, out, err } = await run(words, { env })
    expect([code, out]).toEqual([2, ''])
    const [sentence = '', then = ''] = err
      .replace(/\n +/g, ' ')
      .replaceAll('\n', ' ')
      .split(/ +try: +/)
    return [sentence.replace('error: ', ''), then.trim()]
  }

  test.each([
    ['rsi = 30', '--when, column 1: there is no field "rsi";', "bands events AAPL --when 'rsi_zone = oversold'"],
    [
      'rsi_zone = oversold && macd_state = expanding_positive',
      '--when, column 21: "&&" cannot stand here; allowed here: for, and, or.',
      "bands events AAPL --when 'rsi_zone = oversold and macd_state = expanding_positive'",
    ],
    [
      'rsi_zone = oversold or overbought',
      '--when, column 24: overbought is a band and no field;',
      "bands events AAPL --when 'rsi_zone = oversold or rsi_zone = overbought'",
    ],
    [
      'momentum = high',
      '--when, column 1: there is no field "momentum";',
      "bands events AAPL --when 'rsi_zone = neutral_high'",
    ],
  ])('%s: the line that can be pasted has it right', async (condition, sentence, line) => {
    for (const option of [['--when', condition], [`--when=${condition}`]]) {
      const [said, next] = await refusedWords('events', 'AAPL', ...option)
      expect(said).toContain(sentence)
      expect(next.replace('--when=', '--when ').replaceAll("'", '')).toBe(line.replaceAll("'", ''))
    }
  })

  test('without quotes leads to the line with them', async () => {
    const [said, next] = await refusedWords('events', 'AAPL', '--when', 'rsi_zone', '=', 'oversold', '--limit', '3')
    expect(said).toContain('Quote the whole condition if it has blanks.')
    expect(next).toBe("bands events AAPL --when 'rsi_zone = oversold' --limit 3")
    expect(
      joinConditionWords(
        'tally --all --when GSPC:rsi_zone in (oversold, neutral) and rsi_zone enters any --wide'.split(' '),
      ),
    ).toEqual(['tally', '--all', '--when', 'GSPC:rsi_zone in (oversold, neutral) and rsi_zone enters any', '--wide'])
    expect(joinConditionWords(['events', 'AAPL', '=', 'x'])).toBeNull()
    expect(joinConditionWords(['events', 'AAPL', '--when', 'rsi_zone = oversold', 'in'])).toBeNull()
    expect(joinConditionWords([])).toBeNull()
  })

  test('keeps to what was named: tickers or all of them, a watch list, and the group of an option', async () => {
    const slip = 'backtest --all rsi_zone --band oversold --hold 20 --wide AAPL'
    const [, next] = await refusedWords(...slip.split(' '))
    expect(next).toBe('bands backtest AAPL --band oversold --hold 20 --wide rsi_zone')
    const [, five] = await refusedWords('events', 'AAPL', 'rsi_zone', '5')
    expect(five).toBe('bands events AAPL rsi_zone')
    await typed('watch add mine AAPL', { env })
    const [, watched] = await refusedWords('changes', 'mine')
    expect(watched).toBe('bands changes --watch mine')
    const [said] = await refusedWords('scan', '--sort', 'days')
    expect(said).toContain('there is no option "--sort" of scan;')
  })
})

test('every word that is meant for a command leads to a command that takes the line', async () => {
  const words = COMMON_SLIPS.flatMap(row => row.words)
  expect(words).toEqual([...new Set(words)])
  expect(words.filter(word => TOP_WORDS.includes(word))).toEqual([])
  for (const { command, example, requiredWords: after = [] } of COMMON_SLIPS) {
    if (['--version', 'help'].includes(command)) continue
    expect(CATALOGUE.map(({ name }) => name)).toContain(command)
    const heard = await parseWords([...command.split(' '), ...example, ...after])
    expect(heard).toMatchObject({ name: command })
  }
})

test('each field is meant by its name, in any case, and by its first word where no other field begins with it', () => {
  for (const { name } of FIELDS) {
    expect(likelyFields(name, BUILT_IN_FIELDS)).toEqual([name])
    expect(likelyFields(name.toUpperCase().replaceAll('_', '-'), BUILT_IN_FIELDS)).toEqual([name])
    const first = name.split('_')[0]!
    expect(likelyFields(first, BUILT_IN_FIELDS)).toContain(name)
    expect(likelyFields(first, BUILT_IN_FIELDS)[0]).toMatch(new RegExp(`^${first}`))
  }
})

test('a line with nothing near it says what there is, and promises nothing', async () => {
  const { code, err } = await typed('xyzzy', { env })
  expect(code).toBe(2)
  expect(err).toMatch(/^error: there is no command "xyzzy"\.\n {2}commands: events /)
})
