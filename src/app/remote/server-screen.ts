import { type InvalidParameter, typedLineWith, wrong } from '../../core/errors.js'
import { BUILT_IN_FIELDS } from '../../core/fields/index.js'
import {
  type Condition,
  parseCondition,
  printCondition,
  printSubject,
  type StateTest,
} from '../../core/language/condition.js'
import { parseDay } from '../../core/model/day.js'
import type { SearchPage } from '../../core/model/pages.js'
import type { Timeframe } from '../../core/model/terms.js'
import { longNameOf } from '../../core/params/places.js'
import { MAX_LIMIT } from '../../core/params/questions.js'
import { MAX_VALUES } from '../../core/params/search.js'
import type { Screen, ScreenMatch } from '../../research/screen/screen.js'
import type { TickerPages } from './ticker-pages.js'

/** A condition on the last bar of each ticker of a server. */
export interface ServerScreenQuery {
  /** In canonical form. */
  condition: string
  timeframe: Timeframe
  /** Only these; default all of the server. */
  tickers?: readonly string[] | undefined
}

interface Filter {
  field: string
  op: 'in' | 'neq'
  value: string | readonly string[]
}

/**
 * The tickers of a server that meet a condition, by its search, which costs a credit for a page of 100. A search says
 * nothing of the bars before the last one, so `since` and `bars` of a match are null. Throws InvalidParameter for a
 * condition that a search cannot decide.
 */
export async function serverScreen(
  pages: Pick<TickerPages, 'search'>,
  { condition: when, timeframe, tickers }: ServerScreenQuery,
): Promise<Screen> {
  const condition = parseCondition(when, BUILT_IN_FIELDS)
  const tests = decidableTests(condition, timeframe)
  if ((tickers?.length ?? 0) > MAX_VALUES)
    throw wrong('tickers', `a search of a server takes at most ${MAX_VALUES} tickers.`, {
      value: String(tickers!.length),
    })
  const filters = tests.flatMap(filtersOf)
  if (tickers !== undefined) filters.push({ field: 'ticker', op: 'in', value: tickers })
  // The column of the search for each tested field.
  const columns = new Map(tests.map(({ subject }) => [printSubject(subject), longNameOf(subject.field)]))
  const fields = ['ticker', 'as_of_date', 'close', ...new Set(columns.values())]
  const matches: ScreenMatch[] = []
  let page: SearchPage
  do {
    page = await pages.search({ timeframe, filters, fields, limit: MAX_LIMIT, offset: matches.length })
    for (const result of page.results) matches.push(matchOf(result, page, columns))
  } while (page.has_more && page.results.length > 0)
  return {
    schema: 'bands.screen/3',
    when,
    within: null,
    as_of: page.date,
    subjects: [...columns.keys()],
    matches,
    scanned: page.total_scanned,
    stale: 0, // a server does not report tickers whose last bar is old
  }
}

/** The tests of a condition: bands of the last bar, joined by `and`. Throws InvalidParameter for any other one. */
function decidableTests(condition: Condition, timeframe: Timeframe): StateTest[] {
  if (condition.is === 'and') return condition.parts.flatMap(part => decidableTests(part, timeframe))
  if (condition.is !== 'state' || condition.bars > 1) throw undecidedError(condition)
  const { ticker, timeframe: testTimeframe } = condition.subject
  if (ticker !== null || (testTimeframe !== null && testTimeframe !== timeframe)) throw undecidedError(condition)
  return [condition]
}

function undecidedError(condition: Condition): InvalidParameter {
  const value = printCondition(condition)
  const words = `a search of a server takes bands of the last bar, joined by "and": not ${JSON.stringify(value)}.`
  const about = { remedy: typedLineWith('screen', [], { remote: 'local' }) }
  return wrong('when', words, { value, allowed: 'field = band, field != band, field in (…)' }, about)
}

/** The filters of a search for one test; a negated test (`!=`) needs a filter for each band. */
function filtersOf({ subject, bands, negated }: StateTest): Filter[] {
  const field = longNameOf(subject.field)
  return negated ? bands.map(value => ({ field, op: 'neq', value })) : [{ field, op: 'in', value: bands }]
}

/** A result of a search as a match of a screen. @param columns the column of the search for each tested field */
function matchOf(
  result: SearchPage['results'][number],
  { timeframe, date: today }: SearchPage,
  columns: ReadonlyMap<string, string>,
): ScreenMatch {
  const date = String(result.as_of_date)
  const bands = [...columns].map(([name, column]) => {
    const band = result[column]
    return [name, typeof band === 'string' ? band : null] as const
  })
  return {
    ticker: String(result.ticker),
    timeframe,
    date,
    since: null,
    bars: null,
    bands: Object.fromEntries(bands),
    close: Number(result.close),
    age_days: parseDay(today)! - parseDay(date)!,
  }
}
