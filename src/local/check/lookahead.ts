import { outcomes } from '../../engine/outcomes.js'
import { InvalidParameter } from '../../errors.js'
import type { Field } from '../../fields/field.js'
import { fieldNamed } from '../../fields/index.js'
import { Panel } from '../../fields/panel.js'
import { type Day, formatDay } from '../../model/day.js'
import { securityOf } from '../../model/fact-sheet.js'
import type { Facts } from '../../model/facts.js'
import type { Series } from '../../model/series.js'
import type { Timeframe } from '../../model/timeframe.js'
import { Random } from '../../random.js'
import type { TickerEntry } from '../../store/store.js'
import type { Cache } from '../cache.js'
import { countedFacts, sectorKey } from '../dossier.js'
import { Sectors } from '../sectors.js'
import { viewOf } from '../view.js'
import { Comparison } from './comparison.js'
import { cutOff, SectorsBy } from './cut-off.js'
import type { CheckLookahead } from './result.js'

export interface LookaheadQuery {
  tickers: readonly string[]
  /** Names. */
  fields: readonly string[]
  timeframe: Timeframe
  /** How many days the data are cut off by, drawn from the days of the tickers' bars. */
  cuts: number
  seed: number
}

export interface CheckWays {
  step?: (text: () => string) => void
  /** What a name stands for; the field of that name unless given. */
  field?: (name: string) => Field
}

/**
 * Cuts bars and facts off by random days, derives everything anew of what is left, and compares it with what the store
 * shows of those days: a difference is a value that knew its future. A cut is the same for all tickers, sectors included.
 * After freqtrade's lookahead-analysis, which runs a strategy on cut-off data likewise. Throws NotFound, Busy,
 * InvalidParameter without a cut.
 */
export async function checkLookahead(
  cache: Cache,
  { tickers, fields: names, timeframe, cuts, seed }: LookaheadQuery,
  { step, field = name => fieldNamed(name)! }: CheckWays = {},
): Promise<CheckLookahead> {
  if (!Number.isInteger(cuts) || cuts < 1) {
    const allowed = 'a whole number from 1 on'
    throw new InvalidParameter(`cuts ${cuts} is not ${allowed}.`, { param: 'cuts', value: cuts, allowed })
  }
  const fields = names.map(field)
  await cache.checkFinished(fields)
  const chosen = [...new Set(tickers)].sort()
  const days = drawn(await daysOf(cache, chosen), cuts, new Random(seed))
  const comparison = new Comparison(fields)
  const sectors = new Sectors(cache.store)
  const standing = new Map(days.map(day => [day, new SectorsBy(sectors, timeframe, day)]))
  for (const [done, ticker] of chosen.entries()) {
    step?.(() => `${ticker}: ${done} of ${chosen.length} tickers`)
    const subject = await subjectOf(cache, ticker, timeframe, fields, sectors)
    const there = days.filter(day => day >= subject.entry.first)
    if (there.length === 0) comparison.skip(ticker, 'its bars begin after every cut')
    for (const day of there) await compare(comparison, subject, day, standing.get(day)!)
  }
  return {
    schema: 'bands.check-lookahead/1',
    tickers: chosen,
    timeframe,
    as_of: cache.asOf === null ? null : formatDay(cache.asOf),
    seed,
    cuts: days.map(formatDay),
    ...comparison.result(),
  }
}

/** A ticker with all that is kept of it, and what the store shows of each field. */
export interface Subject {
  entry: TickerEntry
  timeframe: Timeframe
  daily: Series
  facts: Facts | null
  sectorKey: string | null
  fields: readonly { field: Field; codes: Uint8Array; recorded: Recorded }[]
}

type Recorded = NonNullable<Awaited<ReturnType<Cache['store']['recorded']>>>

async function subjectOf(
  cache: Cache,
  ticker: string,
  timeframe: Timeframe,
  fields: readonly Field[],
  sectors: Sectors,
): Promise<Subject> {
  const entry = await cache.entry(ticker)
  const panel = await cache.panel(ticker, timeframe, fields, sectors)
  const { series: daily } = await cache.panel(ticker, 'daily', [])
  const needsFacts = fields.some(field => field.needs !== 'bars')
  const sheets = needsFacts ? await cache.store.sheets(ticker) : {}
  const whole: Subject['fields'][number][] = []
  // Refuses what other definitions derived; that no import is unfinished is known.
  await cache.view(ticker, timeframe, ANY_FIELD)
  for (const field of fields) {
    const recorded = (await cache.store.recorded(ticker, timeframe, field.name))!
    whole.push({ field, codes: field.classify(panel), recorded })
  }
  const facts = needsFacts ? countedFacts(sheets) : null
  return {
    entry,
    timeframe,
    daily,
    facts,
    sectorKey: facts === null ? null : sectorKey(securityOf(sheets)),
    fields: whole,
  }
}

const ANY_FIELD = 'rsi_zone'

async function compare(comparison: Comparison, subject: Subject, day: Day, sectors: SectorsBy): Promise<void> {
  const { entry, timeframe, sectorKey: key } = subject
  const { series, facts } = cutOff(subject, timeframe, day)
  const sector = key === null ? null : await sectors.seenFrom(entry.ticker, key)
  const panel = new Panel(series, facts, sector)
  const place = { ticker: entry.ticker, cut: day }
  for (const { field, codes, recorded } of subject.fields)
    comparison.field(place, viewOf(recorded, timeframe, field.name, day), { field, codes }, field.classify(panel))
  const [first] = subject.fields
  if (first === undefined) return
  const view = viewOf(first.recorded, timeframe, first.field.name, day)
  comparison.aftermath(place, view, outcomes(series))
}

/** All days with a bar of one of the tickers, ascending. */
async function daysOf(cache: Cache, tickers: readonly string[]): Promise<Day[]> {
  const seen = new Set<Day>()
  for (const ticker of tickers) for (const day of (await cache.series(ticker, 'daily')).days) seen.add(day)
  return [...seen].sort((a, b) => a - b)
}

/** So many of the days, without repetition, ascending; all of them when there are no more. */
function drawn(days: Day[], count: number, random: Random): Day[] {
  const most = Math.min(count, days.length)
  for (let i = 0; i < most; i++) {
    const j = i + random.below(days.length - i)
    ;[days[i], days[j]] = [days[j]!, days[i]!]
  }
  return days.slice(0, most).sort((a, b) => a - b)
}
