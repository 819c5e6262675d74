import { count, numberText } from '../../core/numbers.js'
import type { Status, TickerStatus } from '../../data/local/status.js'
import { type Column, column, type Described, tablePart } from './description.js'

/** One thing about the bars of a ticker that may be wrong. */
interface Problem {
  ticker: string
  problem: string
  /** The first day; null if it concerns only the day `to`. */
  from: string | null
  to: string
}

type Oddity = Status['oddities'][number]

/** The status with only the tickers that have gaps or odd bars, or end before the others. */
export function onlyProblems<Found extends Status>(status: Found): Found {
  const odd = new Set(status.oddities.map(({ ticker }) => ticker))
  const hasProblem = ({ ticker, gaps, behind }: TickerStatus): boolean =>
    gaps.length > 0 || behind > 0 || odd.has(ticker)
  return { ...status, tickers: status.tickers.filter(hasProblem) }
}

/** For people, a row for each problem of the bars in place of a row for each ticker. */
export function describeProblems(described: Described, status: Status, loaded: number): Described {
  const problems = status.tickers.flatMap(ticker => problemsOf(ticker, status.oddities))
  const heading = [
    status.database,
    problems.length === 0
      ? `no problem in the bars of ${count(loaded, 'ticker')}`
      : `${count(problems.length, 'problem')} in the bars of ${numberText(status.tickers.length)} of ${count(loaded, 'ticker')}`,
  ]
  const table = problems.length === 0 ? [] : [tablePart('Problems', PROBLEM_COLUMNS, problems)]
  const notes = status.oddities.length === 0 ? [] : ['bands doctor shows the remedy for odd bars']
  return { ...described, paragraphs: [{ heading, parts: [...table, { notes }] }] }
}

/** The problems of a ticker: the odd bars, then its gaps, then that it ends before the others. */
function problemsOf({ ticker, gaps, behind, last }: TickerStatus, oddities: readonly Oddity[]): Problem[] {
  const odditiesOfTicker = oddities.filter(oddity => oddity.ticker === ticker)
  const problems: Problem[] = odditiesOfTicker.map(oddity => {
    return { ticker, problem: oddityText(oddity), from: null, to: oddity.date }
  })
  for (const { after, before, days } of gaps)
    problems.push({ ticker, problem: `gap of ${count(days, 'day')}`, from: after, to: before })
  const isFarBehind = odditiesOfTicker.some(({ kind }) => kind === 'far_behind')
  if (behind > 0 && !isFarBehind)
    problems.push({ ticker, problem: `ends ${count(behind, 'day')} before the newest`, from: null, to: last })
  return problems
}

function oddityText({ kind, factor, bars }: Oddity): string {
  switch (kind) {
    case 'accepted_jump':
      return `accepted jump of the prices, times ${Number(factor!.toPrecision(6))}`
    case 'outside_range':
      return `${count(bars!, 'bar')} with open or close outside high and low`
    case 'to_come':
      return 'bars to come, which do not count'
    case 'far_behind':
      return 'ends long before most tickers'
    case 'far_beyond':
      return 'ends long after most tickers'
  }
}

const PROBLEM_COLUMNS: readonly Column<Problem>[] = [
  column('ticker'),
  column('problem'),
  { title: 'From', kind: 'date', value: ({ from }) => from ?? '' },
  column('to', 'date'),
]
