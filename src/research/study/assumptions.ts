import { LEAST_UNITS } from '../cell/series.js'
import { ESTIMATION } from './models.js'
import type { Material } from './window.js'

/** What was assumed, line by line, for whoever reads the numbers. */
export function assumptionsOf({ query, subjects }: Material): string[] {
  const { filter, benchmark, abnormal, reps, resamples, seed, minEvents } = query
  const pooled = subjects.length > 1
  const drawn = reps === 'all' ? 'every possible shift' : `${reps} drawn shifts where more than 2,000 are possible`
  return [
    'Returns are from the close of the event to the close so many bars of the same ticker later, without costs; that close is known only when trading in it is over, so a trade has to take a later price (bands backtest).',
    pricesLine(subjects),
    `Base: every bar of the same ${pooled ? 'tickers' : 'ticker'} and dates on which ${filter.field} has a band and whose window has elapsed${pooled ? '; each ticker counts in it as its events count' : ''}.`,
    `p (${drawn}): the events stay where they are and the returns are rotated against them${pooled ? ', by the same number of days in all tickers' : ''}; the share of rotations with as great a difference, two-sided.`,
    `Intervals (95 %, of the difference): stationary bootstrap of the calendar, and BCa of units of events whose windows share no day; ${resamples} resamples each.`,
    'Random entries: as many bars of the same tickers; events whose windows overlap are moved together. The mean of entries of the same calendar years is told beside it, but no p against it: the year holds the very fall or rise that led to an event.',
    `n_indep counts windows of one ticker that share no bar; below ${LEAST_UNITS}, or below ${minEvents} events, there is neither p-value nor interval.`,
    `Calendar time: the mean return of all open positions by day, ${benchmark === null ? 'less what their tickers earn on any bar' : `its alpha against ${benchmark}`}.`,
    ...modelLines(abnormal, benchmark),
    'Path: its ribbon is the 95 % interval of the mean over units of events whose windows share no day.',
    `Nothing here allows for the ${query.horizons.length > 1 ? 'several windows' : 'other questions'} that were looked at; bands sweep corrects for it.`,
    'The tickers are those that were asked for: ones that no longer trade may be missing among them (survivorship).',
    `Seed ${seed}: the same question of the same data gives the same bytes.`,
  ]
}

function pricesLine(subjects: Material['subjects']): string {
  const raw = subjects.filter(({ prices }) => prices.adjustment === 'raw').length
  if (raw === 0) return 'Prices are adjusted for splits and dividends.'
  if (raw === subjects.length) return 'Prices are not adjusted for dividends: returns and base both lack them.'
  return `Prices of ${raw} of ${subjects.length} tickers are not adjusted for dividends: returns and base both lack them there.`
}

function modelLines(abnormal: Material['query']['abnormal'], benchmark: string | null): string[] {
  if (abnormal === 'none') return []
  const { first, last } = ESTIMATION
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'mean-adjusted returns'
  return [
    `Abnormal returns: ${model}, estimated on bars t-${first} to t-${last} of each event, summed up over the window. Kolari and Pynnonen's test takes all events; the others, which take events for independent, only the first of those that share days.`,
    `Where a band is made from prices the estimation window holds part of the fall or rise that led to it, and abnormal returns lean the other way: there the p of the shift is the one to trust.`,
  ]
}
