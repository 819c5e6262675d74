import { weekly } from '../../src/core/engine/record.js'
import { Sector } from '../../src/core/fields/fundamentals.js'
import { FUNDAMENTAL_FIELDS } from '../../src/core/fields/index.js'
import { Panel } from '../../src/core/fields/panel.js'
import { formatDay } from '../../src/core/model/day.js'
import type { Facts, Split } from '../../src/core/model/facts.js'
import { type Series, UNDEFINED } from '../../src/core/model/series.js'
import type { Timeframe } from '../../src/core/model/terms.js'
import { Random } from '../../src/core/statistics/random.js'
import { randomBars, SHAPES } from './bars.js'
import { seriesOf } from './convert.js'
import { chance, type FactsForm, pick, randomFacts } from './random-facts.js'

/** A ticker as a sector lists it. */
export interface Listed {
  ticker: string
  series: Series
  /** null where there can be none */
  facts: Facts | null
}

export interface Market {
  own: Listed
  /** The other tickers of its sector. */
  peers: Listed[]
}

export interface MarketForm {
  timeframe: Timeframe
  basis: FactsForm['basis']
  peers: number
  /** Daily bars; peers have up to a fifth fewer. */
  length: number
}

/** A ticker and its sector, everything drawn from the seed; calendars differ, some bars jump at splits, some closes are adjusted. */
export function randomMarket(seed: number, form: MarketForm): Market {
  const random = new Random(new Random(seed).word())
  const round = chance(random, 0.35)
  // Where most earn nothing, so does the median peer.
  const kind = { round, losses: pick(random, [0.08, 0.08, 0.08, round ? 0.95 : 0.65]) }
  const [own, ...peers] = Array.from({ length: form.peers + 1 }, (_, i) => randomListed(random, i, kind, form))
  return { own: own!, peers }
}

type Kind = Pick<FactsForm, 'round' | 'losses'>

function randomListed(random: Random, i: number, kind: Kind, { timeframe, basis, length }: MarketForm): Listed {
  const shape = SHAPES[pick(random, kind.round ? ['constant', 'constant', 'round'] : ANY_SHAPE)]!
  const start = formatDay(15_000 + (i === 0 ? 0 : random.below(60)))
  const fewer = i === 0 ? 0 : random.below(length / 5)
  const smooth = seriesOf(randomBars(random.word(), { ...shape, start, length: length - fewer }))
  const facts = randomFacts(random, smooth.days[0]!, smooth.days.at(-1)!, { price: shape.price, basis, ...kind })
  const paid = facts.splits.filter(() => chance(random, 0.5)).map(split => blurred(random, split))
  const daily = paid.reduce(beforeSplit, smooth)
  const adjusted = chance(random, 0.3) ? withoutDividends(daily) : daily
  const series = timeframe === 'daily' ? adjusted : weekly(adjusted)
  return { ticker: `SIM${i}`, series, facts: i > 0 && chance(random, 0.05) ? null : facts }
}

/** The split as bars show it: mostly as it is, sometimes with a jump between none and that of the ratio. */
function blurred(random: Random, split: Split): Split {
  return chance(random, 0.3) ? { ...split, ratio: split.ratio ** pick(random, [0.3, 0.4, 0.6]) } : split
}

export type Bands = Record<string, (string | null)[]>

/** What the engine makes of a ticker in its sector: one band a bar of each fundamental field, null where undefined. */
export function fundamentalBands({ own, peers }: Market): Bands {
  const sector = peers.length === 0 ? null : new Sector([...peers, own]).seenFrom(own.ticker)
  const panel = new Panel(own.series, own.facts, sector)
  const bands = FUNDAMENTAL_FIELDS.map(field => [
    field.name,
    Array.from(field.classify(panel), code => (code === UNDEFINED ? null : field.bands[code]!)),
  ])
  return Object.fromEntries(bands) as Bands
}

const ANY_SHAPE = ['plain', 'cents', 'round', 'constant', 'jumpy', 'gappy', 'sevenDays', 'wild']

/** The same bars with the prices before a split as they were paid. */
export function beforeSplit(series: Series, { ex_date, ratio }: Split): Series {
  const paid = (prices: Float64Array): Float64Array =>
    prices.map((price, t) => (series.days[t]! < ex_date ? price * ratio : price))
  const { open, high, low, close, unadjustedClose } = series
  const columns = { open: paid(open), high: paid(high), low: paid(low), close: paid(close) }
  return { ...series, ...columns, ...(unadjustedClose === undefined ? {} : { unadjustedClose: paid(unadjustedClose) }) }
}

function withoutDividends(series: Series): Series {
  const last = series.close.length - 1
  return { ...series, unadjustedClose: series.close, close: series.close.map((x, t) => x * 0.9997 ** (last - t)) }
}
