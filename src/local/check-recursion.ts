import { InvalidParameter } from '../errors.js'
import type { Field } from '../fields/field.js'
import { fieldNamed } from '../fields/index.js'
import { Panel } from '../fields/panel.js'
import type { SectorView } from '../fields/sector.js'
import { formatDay } from '../model/day.js'
import { type Series, UNDEFINED } from '../model/series.js'
import type { Timeframe } from '../model/terms.js'
import type { Cache } from './cache.js'
import type { CheckRecursion, CheckWays, LateStart, Skipped } from './check-lookahead.js'
import { Sectors } from './sectors.js'
import { countedFacts } from './view.js'

interface RecursionQuery {
  tickers: readonly string[]
  /** Names. */
  fields: readonly string[]
  timeframe: Timeframe
  /** How many of the first bars are left out; each is tried. */
  dropped: readonly number[]
}

/** What is left out unless something else is asked for, in bars. */
export const DROPPED: readonly number[] = [1, 20, 100, 250, 500]

/**
 * Lets the bars of each ticker begin later and tells, by field, from when on the bands are those of the whole. A field
 * that looks back over a window agrees once that is full, a recursive one when its begin is forgotten; how many bars a
 * history needs before its bands can be trusted is read from that. After freqtrade's recursive-analysis. Facts stay as
 * they are. Throws NotFound, Busy, InvalidParameter for a number of bars below 1.
 */
export async function checkRecursion(
  cache: Cache,
  { tickers, fields: names, timeframe, dropped }: RecursionQuery,
  { step, field = name => fieldNamed(name)! }: CheckWays = {},
): Promise<CheckRecursion> {
  for (const bars of dropped) if (!Number.isInteger(bars) || bars < 1) throw refusal(bars)
  const fields = names.map(field)
  await cache.checkFinished(fields)
  const chosen = [...new Set(tickers)].sort()
  const drops = [...new Set(dropped)].sort((a, b) => a - b)
  const starts = new Map(fields.map(({ name }) => [name, drops.map(bars => new Starts(bars))]))
  const skipped: Skipped[] = []
  const sectors = new Sectors(cache.store)
  for (const [done, ticker] of chosen.entries()) {
    step?.(() => `${ticker}: ${done} of ${chosen.length} tickers`)
    const bars = (await cache.series(ticker, timeframe)).days.length
    if (bars <= drops[0]!) skipped.push({ ticker, reason: `has ${bars} bars, of which ${drops[0]} are to be left out` })
    const late = await lateStarts(cache, ticker, timeframe, fields, sectors)
    for (const [n, count] of drops.entries()) {
      if (bars <= count) continue
      for (const { field, whole, from } of late)
        starts.get(field.name)![n]!.add(whole.subarray(count, bars), from(count).subarray(0, bars - count))
    }
  }
  return {
    schema: 'bands.check-recursion/1',
    tickers: chosen,
    timeframe,
    as_of: cache.asOf === null ? null : formatDay(cache.asOf),
    dropped: drops,
    fields: fields.map(({ name }) => ({ field: name, starts: starts.get(name)!.map(one => one.result()) })),
    skipped,
  }
}

interface Late {
  field: Field
  /** Bands of the whole. */
  whole: Uint8Array
  /** Bands of the bars that are left when so many are left out. */
  from(count: number): Uint8Array
}

async function lateStarts(
  cache: Cache,
  ticker: string,
  timeframe: Timeframe,
  fields: readonly Field[],
  sectors: Sectors,
): Promise<Late[]> {
  const panel = await cache.panel(ticker, timeframe, fields, sectors)
  const facts = panel.fundamentals === null ? null : countedFacts(await cache.store.sheets(ticker))
  const sector = facts === null ? null : await sectors.seenFrom(ticker, timeframe)
  const panels = new Map<number, Panel>()
  const panelFrom = (count: number): Panel => {
    const known = panels.get(count) ?? new Panel(tail(panel.series, count), facts, sector && seenLater(sector, count))
    panels.set(count, known)
    return known
  }
  return fields.map(field => ({
    field,
    whole: field.classify(panel),
    from: count => field.classify(panelFrom(count)),
  }))
}

/** How the bands of one field compare for one number of bars left out, over all tickers. */
class Starts {
  readonly #found: Omit<LateStart, 'share' | 'agree_after'>
  readonly #agree: number[] = []

  constructor(dropped: number) {
    this.#found = { dropped, tickers: 0, bars: 0, warming_up: 0, differing: 0, never: 0 }
  }

  /** Both from the late start on. */
  add(whole: Uint8Array, late: Uint8Array): void {
    const found = this.#found
    let agree = 0
    let some = false
    for (let t = 0; t < whole.length; t++) {
      if (whole[t] === UNDEFINED && late[t] === UNDEFINED) continue
      some = true
      found.bars++
      if (whole[t] === late[t]) continue
      if (late[t] === UNDEFINED) found.warming_up++
      else found.differing++
      agree = t + 1
    }
    if (!some) return
    found.tickers++
    if (agree === whole.length) found.never++
    else this.#agree.push(agree)
  }

  result(): LateStart {
    const { never, ...found } = this.#found
    const { bars, warming_up, differing } = found
    const agree = this.#agree.toSorted((a, b) => a - b)
    const most = agree.at(-1)
    return {
      ...found,
      share: bars > warming_up ? differing / (bars - warming_up) : null,
      agree_after: most === undefined ? null : { median: agree[(agree.length - 1) >> 1]!, most },
      never,
    }
  }
}

/** The bars from `count` on, as views on the same columns. */
function tail(series: Series, count: number): Series {
  const { timeframe, unadjustedClose } = series
  return {
    timeframe,
    days: series.days.subarray(count),
    known: series.known.subarray(count),
    open: series.open.subarray(count),
    high: series.high.subarray(count),
    low: series.low.subarray(count),
    close: series.close.subarray(count),
    volume: series.volume.subarray(count),
    ...(unadjustedClose === undefined ? {} : { unadjustedClose: unadjustedClose.subarray(count) }),
  }
}

function seenLater(sector: SectorView, count: number): SectorView {
  return { yieldsOfOthers: t => sector.yieldsOfOthers(t + count) }
}

function refusal(bars: number): InvalidParameter {
  const allowed = 'a whole number from 1 on'
  return new InvalidParameter(`dropped ${bars} is not ${allowed}.`, { param: 'dropped', value: bars, allowed })
}
