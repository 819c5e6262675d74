import { CATALOGUE, type Entry, TOP_WORDS } from '../../../src/app/cli/catalogue.js'
import { FIELDS } from '../../../src/core/fields/index.js'
import { wordsOf } from './run.js'

/** Command lines that work on the bundled bars, and mistakes that people make in them. */

/** One line of each command that asks something of the data; quick to answer. */
export const GOOD_LINES: readonly string[] = [
  'events AAPL rsi_zone --band oversold',
  'events AAPL macd_state --timeframe weekly --after 2017-01-01 --limit 20',
  'tally AAPL rsi_zone --band oversold --before 2017-06-30',
  'tally AAPL macd_state --context GSPC:trend_direction=uptrend',
  'now AAPL --field rsi_zone',
  'now AAPL GSPC --as-of 2018-02-08 --timeframe weekly',
  'transitions AAPL rsi_zone --after 2015-01-01',
  'explain AAPL rsi_zone 2017-06-01',
  'show AAPL trend_direction --after 2017-01-01 --height 8',
  'study AAPL rsi_zone --band oversold --horizon 5,20 --tests "draws 99, bootstrap 99"',
  'backtest AAPL rsi_zone --band oversold --hold 20 --tests "draws 99"',
  'sweep AAPL --horizon 5 --tests "bootstrap 99" --limit 5',
  "screen 'rsi_zone = oversold' --since 5",
  'changes --since 2018-05-01 --timeframe weekly',
  'scan oversold --filter "severity oversold" --sort severity',
  'export events --tickers AAPL --field rsi_zone --band oversold',
]

/** Options that only mean something together. */
const PARTS =
  /--(context-(ticker|field|band)|max-fraction|asset-class|min-market-cap-tier|market-cap-tier|sector|min-severity|split|embargo|walk-forward|cv|cpcv|reps|resamples|naive|hansen-hodrick|monte-carlo|pbo-blocks|capital|whole-shares|cash-rate|shuffle|order|overlap|rf|fraction|target-volatility|sizing|cells|webhook)/

type Random = () => number
type Slip = (words: string[], random: Random, entry: Entry) => Promise<string[] | null> | string[] | null

const BANDS = [...new Set(FIELDS.flatMap(field => field.bands))]
const isOption = (word: string | undefined): boolean => word?.startsWith('--') ?? false
const one = <Item>(items: readonly Item[], random: Random): Item => items[Math.floor(random() * items.length)]!

/** A word with one letter missing, doubled, changed or exchanged. */
function misspelt(word: string, random: Random): string {
  const at = 1 + Math.floor(random() * (word.length - 1))
  const a = word.slice(0, at)
  const b = word.slice(at)
  const ways = [
    a + b.slice(1),
    `${a}${b.charAt(0)}${b}`,
    `${a}x${b.slice(1)}`,
    a.slice(0, -1) + b.charAt(0) + a.slice(-1) + b.slice(1),
  ]
  return one(ways, random)
}

/** Changes one of the words that a test accepts. */
function changed(
  words: string[],
  random: Random,
  accepts: (word: string, at: number) => boolean,
  change: (word: string) => string,
) {
  const places = words.flatMap((word, at) => (accepts(word, at) ? [at] : []))
  if (places.length === 0) return null
  const at = one(places, random)
  return words.with(at, change(words[at]!))
}

const isTicker = (word: string): boolean => word === 'AAPL' || word === 'GSPC'
const isField = (word: string): boolean => FIELDS.some(({ name }) => name === word)
const isDate = (word: string): boolean => /^\d{4}-\d\d-\d\d$/.test(word)

/** Kinds of mistakes; null where a line has nothing of the kind. */
export const SLIPS: Readonly<Record<string, Slip>> = {
  'an option of the command without its value': async (words, random, entry) => {
    const { options = [] } = await entry.load()
    const [flags] = one(
      options.filter(([flags]) => flags.includes('<') && !PARTS.test(flags)),
      random,
    )
    const name = /--[\w-]+/.exec(flags)![0]
    const at = words.indexOf(name)
    const others = at < 0 ? words : words.toSpliced(at, 2)
    return random() < 0.5 ? [...others, name] : [...others, name, '--wide']
  },
  'a typed option without its value': (words, random) => {
    const places = words.flatMap((word, at) =>
      isOption(word) && !isOption(words[at + 1]) && at + 1 < words.length ? [at + 1] : [],
    )
    return places.length === 0 ? null : words.toSpliced(one(places, random), 1)
  },
  'two words exchanged': (words, random) => {
    const at = Math.floor(random() * (words.length - 1))
    return words.with(at, words[at + 1]!).with(at + 1, words[at]!)
  },
  'ticker and field exchanged': words => {
    const ticker = words.findIndex(isTicker)
    const field = words.findIndex(isField)
    return ticker < 0 || field < 0 ? null : words.with(ticker, words[field]!).with(field, words[ticker]!)
  },
  'no ticker': words => (words.some(isTicker) ? words.filter(word => !isTicker(word)) : null),
  'no field': words => (words.some(isField) ? words.filter(word => !isField(word)) : null),
  'a command misspelt': (words, random) => words.with(0, misspelt(words[0]!, random)),
  'an option misspelt': (words, random) =>
    changed(words, random, isOption, word => `--${misspelt(word.slice(2), random)}`),
  'a field misspelt': (words, random) => changed(words, random, isField, word => misspelt(word, random)),
  'a band misspelt': (words, random) =>
    changed(
      words,
      random,
      word => BANDS.includes(word),
      word => misspelt(word, random),
    ),
  'a ticker misspelt': (words, random) => changed(words, random, isTicker, word => misspelt(word, random)),
  'a band without its option': words => {
    const at = words.indexOf('--band')
    return at < 0 ? null : words.toSpliced(at, 1)
  },
  'a band of another field': (words, random) => {
    const at = words.indexOf('--band')
    return at < 0 ? null : words.with(at + 1, one(BANDS, random))
  },
  'a date in another form': (words, random) => {
    const forms = [
      (y: string, m: string, d: string) => `${d}/${m}/${y}`,
      (y: string, m: string, d: string) => `${m}/${d}/${y}`,
      (y: string, m: string, d: string) => `${d}.${m}.${y}`,
      (y: string, m: string, d: string) => `${y}${m}${d}`,
      (y: string, m: string) => `${y}-${m}`,
      (y: string) => y,
      (y: string, m: string, d: string) => `${y}/${m}/${d}`,
    ]
    return changed(words, random, isDate, word => one(forms, random)(...(word.split('-') as [string, string, string])))
  },
  'a value with its unit, or in words': (words, random) =>
    changed(
      words,
      random,
      (word, at) => /^\d+(,\d+)*$/.test(word) && isOption(words[at - 1]),
      word => one([`${word}d`, `${word} days`, 'many', `-${word}`, '0'], random),
    ),
  'an option of another command': async (words, random, entry) => {
    const own = (await entry.load()).options?.map(([flags]) => flags) ?? []
    const commands = await Promise.all(
      CATALOGUE.filter(({ name }) => GOOD_LINES.some(line => line.startsWith(name))).map(({ load }) => load()),
    )
    const others = commands
      .flatMap(({ options = [] }) => options.map(([flags]) => flags))
      .filter(flags => !own.includes(flags) && !PARTS.test(flags))
    const flags = one(others, random)
    const name = /--[\w-]+/.exec(flags)![0]
    return [...words, name, ...(flags.includes('<') && random() < 0.5 ? ['5'] : [])]
  },
  'one word more': (words, random) =>
    words.toSpliced(
      1 + Math.floor(random() * words.length),
      0,
      one(['rsi_zone', 'AAPL', 'oversold', 'trend_direction', 'uptrend', '20', 'weekly', 'xyzzy'], random),
    ),
  'no command': words => words.slice(1),
  'a word of people for a command': (words, random) =>
    words.with(0, one(['get', 'list', 'check', 'chart', 'test', 'why', 'signals', 'count', 'find', 'analyze'], random)),
}

export interface DrawnSlip {
  kind: string
  good: string
  words: string[]
}

/** A random slip of a random line. */
export async function drawSlip(random: Random): Promise<DrawnSlip> {
  for (;;) {
    const good = one(GOOD_LINES, random)
    const kind = one(Object.keys(SLIPS), random)
    const words = wordsOf(good)
    const entry = CATALOGUE.find(({ name }) => good.startsWith(`${name} `))!
    const slipped = await SLIPS[kind]!(words, random, entry)
    if (slipped !== null && slipped.join(' ') !== words.join(' ') && slipped.length > 0)
      return { kind, good, words: slipped }
  }
}

/** The last line of an error without its label, and whether it is a question. */
export function lastLine(err: string): string {
  return (err.trimEnd().split('\n').at(-1) ?? '').replace(/^ +(?:[a-z ]+: +)?/, '')
}

/** Whether a line is a command to paste that does something; a help page is none. */
export function isPasteable(line: string): boolean {
  const [bands, ...words] = wordsOf(line)
  return (
    bands === 'bands' &&
    !words.includes('--help') &&
    (TOP_WORDS.includes(words[0]!) || words[0] === '--version' || words[0] === 'help')
  )
}
