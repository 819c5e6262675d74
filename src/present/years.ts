import type { Backtest, Benchmark } from '../backtest/result.js'
import { cell, type Heading, type Section, type Table, type Trend } from './description.js'
import { returnRange } from './numbers.js'
import type { Records } from './records.js'

/** Whose years these are. */
type Yearly = Pick<Benchmark, 'name' | 'years'>

/** Every year of the strategy beside what holding did in it. */
export function yearsSection(found: Backtest): Section {
  return {
    id: 'years',
    title: 'Year by year',
    short: 'Years',
    on: 'wide',
    parts: [
      { table: yearsTable(yearly(found)) },
      {
        on: 'page',
        notes: [
          'Each calendar year from the close before it to its last; the first and the last may be parts of a year. The worst drawdown is from the highest close of the same year, that close before it included: a fall that began a year earlier counts from there.',
        ],
      },
    ],
  }
}

/** What is told of a year, and how its column is called beside whose it is. */
type Key = 'return' | 'max_drawdown'
const KEYS: readonly Key[] = ['return', 'max_drawdown']
const CALLED: Readonly<Record<Key, string>> = { return: '', max_drawdown: ', drawdown' }

/** A row a year: the return of each, then the worst drawdown of each. */
export function yearsTable(all: readonly Yearly[], keys: readonly Key[] = KEYS): Table {
  const years = [...new Set(all.flatMap(({ years }) => years.map(({ year }) => year)))].sort((a, b) => a - b)
  const known = all.map(one => new Map(one.years.map(year => [year.year, year])))
  const columns = (key: Key, place: number): Heading[] =>
    all.map(({ name }, i) => ({
      title: `${titleOf(name)}${CALLED[key]}`,
      kind: 'return',
      ...(place === 0 && i === 0 ? {} : { spare: i + place * all.length }),
    }))
  return {
    caption: keys.length > 1 ? 'Return and worst drawdown of each calendar year' : 'Return of each calendar year',
    columns: [{ title: 'Year', kind: 'date' }, ...keys.flatMap(columns)],
    rows: years.map(year => [
      cell('date', String(year)),
      ...keys.flatMap(key => known.map(own => cell('return', own.get(year)?.[key] ?? null))),
    ]),
    whole: 'json',
  }
}

function titleOf(name: string): string {
  const short = name.replace(' and ', ' & ')
  return `${short.charAt(0).toUpperCase()}${short.slice(1)}`
}

/** The years as a line beside words; none where there is but one. */
export function yearsTrend({ years }: Pick<Backtest, 'years'>): Trend[] {
  const values = years.flatMap(({ return: value }) => value ?? [])
  if (values.length < 2) return []
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return [{ name: 'years', values, text: `${returnRange({ low, high })} a year` }]
}

/** A row a year of each: the strategy, then what it is held against. */
export function yearRecords(all: readonly Yearly[]): Records {
  return {
    columns: ['name', 'year', 'return', 'max_drawdown'],
    rows: all.flatMap(({ name, years }) => years.map(year => ({ name, ...year }))),
  }
}

/** A strategy and what it is held against. */
export function yearly({ years, benchmarks }: Pick<Backtest, 'years' | 'benchmarks'>): Yearly[] {
  return [{ name: 'strategy', years }, ...benchmarks]
}
