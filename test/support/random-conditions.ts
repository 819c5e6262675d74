import { transitions, weekly } from '../../src/core/engine/record.js'
import type { Vocabulary } from '../../src/core/language/condition.js'
import type { Column } from '../../src/core/language/truth.js'
import { formatDay, parseDay } from '../../src/core/model/day.js'
import { UNDEFINED } from '../../src/core/model/series.js'
import type { Random } from '../../src/core/statistics/random.js'
import { assortedBars } from './bars.js'
import { seriesOf } from './convert.js'
import type { Claim, Looked, Shelf, Shelves, Timeframe } from './oracle/conditions.js'
import { chance, pick } from './random-facts.js'

/** Fields of some three bands each, so that random ones meet. */
export const MADE_FIELDS: Readonly<Record<string, readonly string[]>> = {
  heat: ['cold', 'mild', 'hot'],
  mood: ['sad', 'glad'],
  tide_2: ['low', 'middle', 'high', 'spring'],
}

export const MADE: Vocabulary = {
  names: Object.keys(MADE_FIELDS),
  named: name => (Object.hasOwn(MADE_FIELDS, name) ? { name, bands: MADE_FIELDS[name]! } : undefined),
}

export const TICKERS = ['AAA', '600000.SS', 'CL=F']
export const TIMEFRAMES: readonly Timeframe[] = ['daily', 'weekly']

/** Three tickers whose calendars differ in length, holes and weekends, with made bands that last and are missing at times. */
export function randomShelves(random: Random, longest: number): Shelves {
  return Object.fromEntries(
    TICKERS.map(ticker => {
      const daily = seriesOf(movedNear(assortedBars(random.word(), longest), random))
      const shelf = ({ days, known }: { days: Int32Array; known: Int32Array }): Shelf => ({
        dates: Array.from(days, formatDay),
        finals: Array.from(known, formatDay),
        bands: Object.fromEntries(
          Object.entries(MADE_FIELDS).map(([field, bands]) => [field, randomBands(random, bands, days.length)]),
        ),
      })
      return [ticker, { daily: shelf(daily), weekly: shelf(weekly(daily)) }]
    }),
  )
}

/** Calendars that begin within some weeks of one another. */
function movedNear(bars: ReturnType<typeof assortedBars>, random: Random): ReturnType<typeof assortedBars> {
  const weeks = 7 * Math.floor((16_000 - parseDay(bars[0]!.date)!) / 7 + random.below(6))
  return bars.map(bar => ({ ...bar, date: formatDay(parseDay(bar.date)! + weeks) }))
}

function randomBands(random: Random, bands: readonly string[], length: number): (string | null)[] {
  const stay = pick(random, [0.3, 0.7, 0.95])
  const missing = pick(random, [0, 0.05, 0.5])
  const warmUp = pick(random, [0, 0, 1, 5, length])
  let band = pick(random, bands)
  return Array.from({ length }, (_, t) => {
    if (!chance(random, stay)) band = pick(random, bands)
    return t < warmUp || chance(random, missing) ? null : band
  })
}

/** What the language is shown of a shelf. */
export function columnOf({ dates, finals, bands }: Shelf, field: string, names: readonly string[]): Column {
  const codes = Uint8Array.from(bands[field]!, band => (band === null ? UNDEFINED : names.indexOf(band)))
  const days = (texts: string[]): Int32Array => Int32Array.from(texts, text => parseDay(text)!)
  return { days: days(dates), known: days(finals), bands: names, codes, transitions: transitions(codes) }
}

/** A claim of at most so many levels, of any kind that there is. */
export function randomClaim(
  random: Random,
  fields: Readonly<Record<string, readonly string[]>>,
  levels: number,
  { tickers = TICKERS, longest = 2_000 }: { tickers?: readonly string[]; longest?: number } = {},
): Claim {
  if (levels > 0 && chance(random, 0.65)) {
    const parts = (): Claim[] =>
      Array.from({ length: 2 + random.below(2) }, () => randomClaim(random, fields, levels - 1, { tickers, longest }))
    return pick(random, [
      () => ({ all: parts() }),
      () => ({ any: parts() }),
      () => ({ no: randomClaim(random, fields, levels - 1, { tickers, longest }) }),
    ])()
  }
  const field = pick(random, Object.keys(fields))
  const at: Looked = { field }
  if (chance(random, 0.5)) at.ticker = pick(random, tickers)
  if (chance(random, 0.4)) at.timeframe = pick(random, TIMEFRAMES)
  const some = (): string[] => fields[field]!.filter(() => chance(random, 0.4))
  const atLeastOne = (): string[] => {
    const drawn = some()
    return drawn.length > 0 ? drawn : [pick(random, fields[field]!)]
  }
  const bars = (): number => pick(random, [1, 1, 2, 3, 5, 20, longest])
  if (chance(random, 0.5)) return { at, in: atLeastOne(), isNot: chance(random, 0.4), for: bars() }
  const bands = (): string[] | null => (chance(random, 0.4) ? null : atLeastOne())
  return { at, into: bands(), outOf: bands(), within: bars() }
}

/** A claim as somebody might write it: brackets, blanks, line ends and capitals as they come. */
export function written(claim: Claim, random: Random): string {
  const text = spelled(claim, random)
  const broken = text.replace(/ /g, () => (chance(random, 0.05) ? pick(random, ['  ', '\n', '\t', ' \r\n ']) : ' '))
  return chance(random, 0.2) ? broken.toUpperCase().replace(/@DAILY/g, '@daily') : broken
}

function spelled(claim: Claim, random: Random): string {
  const part = (one: Claim, tight: boolean): string => {
    const text = spelled(one, random)
    return (tight && ('all' in one || 'any' in one)) || chance(random, 0.1) ? `(${text})` : text
  }
  if ('all' in claim) return claim.all.map(one => part(one, true)).join(' and ')
  if ('any' in claim) return claim.any.map(one => part(one, false)).join(' or ')
  if ('no' in claim) return `not ${part(claim.no, true)}`
  const { ticker, field, timeframe } = claim.at
  const subject = `${ticker === undefined ? '' : `${ticker}:`}${field}${timeframe === undefined ? '' : `@${timeframe}`}`
  const list = (bands: readonly string[]): string => `(${bands.join(pick(random, [',', ', ', ' , ']))})`
  const bars = (word: string, count = 1): string => {
    if (count === 1 && chance(random, 0.9)) return ''
    return ` ${word} ${count}${chance(random, 0.5) ? ' bars' : ''}`
  }
  if ('in' in claim) {
    const single = claim.in.length === 1 && chance(random, 0.8)
    const sign = pick(random, single ? [`${claim.isNot ? '!=' : '='}`, ` ${claim.isNot ? '!=' : '='} `] : [''])
    const how = single ? `${sign}${claim.in[0]}` : ` ${claim.isNot ? 'not ' : ''}in ${list(claim.in)}`
    return `${subject}${how}${bars('for', claim.for)}`
  }
  const named = (bands: string[] | null): string =>
    bands === null ? 'any' : bands.length === 1 && chance(random, 0.8) ? bands[0]! : list(bands)
  const joint = (word: string, bands: string[] | null): string =>
    bands === null && chance(random, 0.5) ? '' : ` ${word} ${named(bands)}`
  const how = chance(random, 0.5)
    ? `enters ${named(claim.into)}${joint('from', claim.outOf)}`
    : `leaves ${named(claim.outOf)}${joint('to', claim.into)}`
  return `${subject} ${how}${bars('within', claim.within)}`
}
