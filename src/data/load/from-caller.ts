import { BadData, sentence, type Words } from '../../core/errors.js'
import { type Day, formatDay, isDay } from '../../core/model/day.js'
import { FACT_KINDS, type FactKind, type FactRecord, type FactSource } from '../../core/model/facts.js'
import type { Adjustment, Series } from '../../core/model/series.js'
import {
  type Checks,
  checkDay,
  checkFunction,
  checkOptions,
  DAYS,
  listOf,
  objectOf,
} from '../../core/params/arguments.js'
import { flagValue, integerValue, refuse, textOf, tickerValue, wordValue } from '../../core/params/values.js'
import { addRecord } from '../feeds/facts/kinds.js'
import { BadCell, refuseFutureDay } from '../feeds/facts/rows.js'
import { FactsSink } from '../feeds/facts/sink.js'
import type { Hints, Input, TickerFacts } from '../feeds/feed.js'
import type { Role } from '../feeds/names.js'
import { barFault, isPrice, latestBar } from '../feeds/price-rows.js'
import { recordToStore } from './facts.js'
import type { ImportOptions, SourcedBars } from './report.js'

/**
 * Data that a program passes to the importer, checked with the rules for files. Throws InvalidParameter for a wrong
 * shape, BadData for impossible values.
 */

const ADJUSTMENTS: readonly Adjustment[] = ['raw', 'adjusted']

/**
 * Checks bars from a program, and returns them as series. Each ticker may be listed once.
 * @param today default: this machine's date
 */
export function barsFromCaller(value: unknown, today: Day | undefined): SourcedBars[] {
  const latest = latestBar(today)
  const listedTickers = new Set<string>()
  return listOf('tickers', value).map((item, i) => {
    const itemName = `tickers[${i}]`
    const { ticker, prices, source, format, bars } = objectOf(itemName, item)
    const checked = {
      ticker: tickerValue(`${itemName}.ticker`, textOf(`${itemName}.ticker`, ticker)),
      prices: wordValue(`${itemName}.prices`, textOf(`${itemName}.prices`, prices), ADJUSTMENTS),
      source: nonEmptyText(`${itemName}.source`, source),
      format: nonEmptyText(`${itemName}.format`, format),
    }
    if (listedTickers.has(checked.ticker)) refuse(`${itemName}.ticker`, ticker, 'a ticker that is given once')
    listedTickers.add(checked.ticker)
    const series = seriesOf(`${itemName}.bars`, bars)
    refuseBadBars(checked, series, latest)
    return { ...checked, bars: series }
  })
}

function nonEmptyText(param: string, value: unknown): string {
  return textOf(param, value) || refuse(param, value, 'text')
}

/** Checks the types and lengths of columns, and returns them as a daily series: each bar is known on its own day. */
function seriesOf(param: string, value: unknown): Series {
  const columns = objectOf(param, value)
  const { days, unadjustedClose } = columns
  wordValue(`${param}.timeframe`, textOf(`${param}.timeframe`, columns.timeframe), ['daily'])
  if (!(days instanceof Int32Array) || days.length === 0)
    return refuse(`${param}.days`, days, 'an Int32Array of days, counted from 1970-01-01, of at least one bar')
  const invalidDay = days.findIndex(day => !isDay(day))
  if (invalidDay >= 0) return refuse(`${param}.days[${invalidDay}]`, days[invalidDay], DAYS)
  const column = (name: string): Float64Array => {
    const values = columns[name]
    if (values instanceof Float64Array && values.length === days.length) return values
    return refuse(`${param}.${name}`, values, `a Float64Array as long as days (${days.length})`)
  }
  const series: Series = {
    timeframe: 'daily',
    days,
    known: days,
    open: column('open'),
    high: column('high'),
    low: column('low'),
    close: column('close'),
    volume: column('volume'),
  }
  return unadjustedClose === undefined ? series : { ...series, unadjustedClose: column('unadjustedClose') }
}

/** Throws BadData for the first bar that a file reader would refuse. */
function refuseBadBars({ ticker, source }: Pick<SourcedBars, 'ticker' | 'source'>, series: Series, latest: Day): void {
  const { days, open, high, low, close, volume, unadjustedClose } = series
  const columns: Partial<Record<Role, Float64Array>> = { open, high, low, close, volume }
  for (const [t, day] of days.entries()) {
    const value = (role: Role): number => columns[role]![t]!
    const fault = barFault(day, latest, value, role => String(value(role)))
    const errorOf = (what: Words) => new BadData({ file: source }, sentence`${ticker} on ${formatDay(day)}: ${what}`)
    if (fault !== null) throw errorOf(fault.reason)
    const unadjusted = unadjustedClose?.[t] ?? Number.NaN
    if (!Number.isNaN(unadjusted) && !isPrice(unadjusted)) throw errorOf(`unadjustedClose ${unadjusted} is no price`)
    if (t > 0 && day <= days[t - 1]!)
      throw errorOf(`it follows ${formatDay(days[t - 1]!)}, and bars ascend by their days`)
  }
}

/** Facts from a program, grouped by ticker and kind. Throws InvalidParameter or BadData for bad ones. */
export function factsFromCaller(
  value: unknown,
  { file }: Pick<FactSource, 'file'>,
  today: Day | undefined,
): TickerFacts[] {
  const latest = latestBar(today)
  // Only refuses contradicting records here.
  const sink = new FactsSink(latest)
  const groups = new Map<string, TickerFacts & { records: FactRecord[] }>()
  for (const [i, item] of listOf('facts', value).entries()) {
    const itemName = `facts[${i}]`
    const { ticker: symbol, kind: word, records } = objectOf(itemName, item)
    const ticker = tickerValue(`${itemName}.ticker`, textOf(`${itemName}.ticker`, symbol))
    const kind = wordValue(`${itemName}.kind`, textOf(`${itemName}.kind`, word), FACT_KINDS)
    const key = `${kind} ${ticker}`
    const group = groups.get(key) ?? { ticker, kind, records: [] }
    groups.set(key, group)
    for (const [j, record] of listOf(`${itemName}.records`, records).entries()) {
      const checked = recordToStore(kind, ticker, objectOf(`${itemName}.records[${j}]`, record))
      group.records.push(checked)
      refuseBadRecord(kind, ticker, checked, { file, place: `record ${j + 1}`, latest, sink })
    }
  }
  return [...groups.values()]
}

/** Throws BadData for a record that a file reader would refuse, alone or next to an earlier one. */
function refuseBadRecord(
  kind: FactKind,
  ticker: string,
  record: FactRecord,
  { file, place, latest, sink }: { file: string; place: string; latest: Day; sink: FactsSink },
): void {
  try {
    for (const [name, value] of Object.entries(record))
      refuseFutureDay(name, value, () => formatDay(Number(value)), latest)
    addRecord(kind, ticker, record, place, sink)
  } catch (error) {
    if (!(error instanceof BadCell)) throw error
    throw new BadData({ file }, `${kind} of ${ticker}, ${place}: ${error.message}`)
  }
}

export function sourceFromCaller(value: unknown): Pick<FactSource, 'file' | 'format'> {
  const { file, format } = objectOf('source', value)
  return { file: nonEmptyText('source.file', file), format: nonEmptyText('source.format', format) }
}

/** Checks the files that a program wants to import. A path may be null, a missing size becomes null. */
export function inputsFromCaller(value: unknown): Input[] {
  return listOf('inputs', value).map((item, i) => {
    const itemName = `inputs[${i}]`
    const { name, path, bytes } = objectOf(itemName, item)
    const size = bytes === undefined || bytes === null ? null : integerValue(`${itemName}.bytes`, bytes, 0, MAX_BYTES)
    return {
      name: nonEmptyText(`${itemName}.name`, name),
      path: path === null ? null : pathWithoutNul(`${itemName}.path`, path),
      bytes: size,
    }
  })
}

function pathWithoutNul(param: string, value: unknown): string {
  const path = nonEmptyText(param, value)
  return path.includes('\0') ? refuse(param, value, 'the path of a file') : path
}

const MAX_BYTES = Number.MAX_SAFE_INTEGER

const HINT_CHECKS: Checks<keyof Hints> = {
  format: textOf,
  delimiter: textOf,
  dateFormat: textOf,
  decimal: textOf,
  timeZone: textOf,
  header: textOf,
}

/** How files are read, and how their data are treated. */
const OPTION_CHECKS: Checks<keyof ImportOptions> = {
  ticker: textOf,
  prices: (param, value) => wordValue(param, textOf(param, value), ADJUSTMENTS),
  skipBadRows: flagValue,
  hints: (param, value) => checkOptions(param, value, HINT_CHECKS),
  known: checkDay,
  today: checkDay,
  stdin: objectOf,
  replace: flagValue,
  rescale: flagValue,
  acceptJump: flagValue,
  onRefused: checkFunction,
  onProgress: checkFunction,
}

/** Throws InvalidParameter for an option that an import does not have, or a value that it cannot have. */
export function checkImportOptions(options: unknown): void {
  checkOptions('options', options, OPTION_CHECKS)
}
