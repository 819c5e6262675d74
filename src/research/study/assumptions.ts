import { fieldNamed } from '../../fields/index.js'
import { whole } from '../amounts.js'
import { LEAST_UNITS } from '../cell/series.js'
import { lacksDividends } from '../dividends.js'
import { ESTIMATION } from './models.js'
import type { StudyWindow } from './result.js'
import { shiftsUsed } from './shifts.js'
import type { Material } from './window.js'

/** What was assumed, line by line, for whoever reads the numbers. */
export function assumptionsOf({ query, subjects }: Material, windows: readonly StudyWindow[]): string[] {
  const { filter, benchmark, abnormal, resamples, seed, minEvents } = query
  const pooled = subjects.length > 1
  return [
    'Returns are from the close of the event to the close so many bars of the same ticker later, without costs; that close is known only when trading in it is over, so a trade has to take a later price (bands backtest).',
    pricesLine(subjects),
    `Base: every bar of the same ${pooled ? 'tickers' : 'ticker'} and dates on which ${filter.field} has a band and whose window has elapsed${pooled ? '; each ticker counts in it as its events count' : ''}.`,
    `p (${shiftsLine(query, windows)}): the events stay where they are and the returns are rotated against them${pooled ? ', by the same number of days in all tickers, and an event that lands where its ticker has no bar drops out of that rotation' : ''}; the share of rotations with as great a difference, two-sided. It takes the days of the events for days like others: where they fall in volatile times it is too small.`,
    'Studentised: the same rotations, each difference divided by its own Newey-West error, so that volatile times are compared with their own spread (Janssen 1997, Chung & Romano 2013).',
    ...contextLine(filter.context),
    ...leaningLine(filter.field),
    `Intervals (95 %, of the difference): stationary bootstrap of the calendar, and BCa of units of events whose windows share no day; ${resamples} resamples each, their ends moved out as few stretches of time ask for (Hesterberg 2015).`,
    'Random entries: as many bars of the same tickers, anywhere in the range; events whose windows overlap are moved together. The mean of entries of the same calendar years is told beside it, but no p against it: the year holds the very fall or rise that led to an event.',
    `n_indep counts windows of one ticker that share no bar${pooled ? ', added up over the tickers, which are not independent of each other; n_stretches counts dates of events of any ticker whose windows share no day' : ''}; with n_indep below ${LEAST_UNITS}, or fewer than ${minEvents} events, there is neither p-value nor interval.`,
    `Calendar time: the mean return of all open positions by day, ${benchmark === null ? 'less what their tickers earn on any bar' : `its alpha against ${benchmark}`}.`,
    ...modelLines(abnormal, benchmark),
    'Path: its ribbon is the 95 % interval of the mean over units of events whose windows share no day.',
    `Nothing here allows for the ${query.horizons.length > 1 ? 'several windows' : 'other questions'} that were looked at; bands sweep corrects for it.`,
    'The tickers are those that were asked for: ones that no longer trade may be missing among them (survivorship).',
    `Seed ${seed}: the same question of the same data gives the same bytes.`,
  ]
}

function shiftsLine({ reps }: Material['query'], windows: readonly StudyWindow[]): string {
  const used = shiftsUsed(windows)
  const rule = reps === 'all' ? 'every possible one' : `every possible one up to 2,000, else ${reps} drawn ones`
  if (used === null) return `joint circular shift, ${rule}`
  const [least, most] = [used.least, used.most].map(whole)
  return `joint circular shift, ${least === most ? least : `${least} to ${most}`} shifts: ${rule}`
}

function contextLine(context: Material['query']['filter']['context']): string[] {
  if (context?.bands == null) return []
  const { ticker, field, bands } = context
  return [
    `Same context: the bars of the base on which ${ticker} ${field} was ${bands.join(' or ')}. The difference from any bar holds what such times bring anyway, that from these bars does not; p and intervals are of the former.`,
  ]
}

function leaningLine(field: string): string[] {
  if (fieldNamed(field)?.needs !== 'bars') return []
  return [
    `${field} is made from prices, and the base holds the fall or rise that led to an event: in short ranges the difference leans the other way by a part of its spread (of pools of random walks of 1,250 bars 6 in 100 have a p below .05).`,
  ]
}

function pricesLine(subjects: Material['subjects']): string {
  const raw = subjects.filter(({ prices }) => lacksDividends(prices)).length
  const adjusted = subjects.some(({ prices }) => prices.adjustment !== 'raw')
  if (raw === 0) return adjusted ? 'Prices are adjusted for splits and dividends.' : 'Prices are as they were traded.'
  if (raw === subjects.length) return 'Prices are not adjusted for dividends: returns and base both lack them.'
  return `Prices of ${raw} of ${subjects.length} tickers are not adjusted for dividends: returns and base both lack them there.`
}

function modelLines(abnormal: Material['query']['abnormal'], benchmark: string | null): string[] {
  if (abnormal === 'none') return []
  const { first, last } = ESTIMATION
  const model = abnormal === 'market' ? `market model on ${benchmark}` : 'mean-adjusted returns'
  return [
    `Abnormal returns: ${model}, estimated on bars t-${first} to t-${last} of each event, summed up over the window. Kolari and Pynnonen's test takes all events; the others, which take events for independent, only the first of those that share days.`,
    `Where a band is made from prices the estimation window holds part of the fall or rise that led to it, and abnormal returns lean the other way: there the p of the shifts is the one to trust.`,
  ]
}
