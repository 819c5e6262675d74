import type { Market } from '../../market.js'
import { whole } from '../amounts.js'
import { LEAST_UNITS } from '../cell/series.js'
import { windowName } from './conditions.js'
import type { Found } from './found.js'
import type { SweepQuery } from './query.js'
import type { Sweep } from './result.js'
import { CHOSEN_BELOW } from './validation.js'

const METHODS: Readonly<Record<SweepQuery['adjust'], string>> = {
  bh: 'Benjamini-Hochberg (1995)',
  by: 'Benjamini-Yekutieli (2001)',
  holm: 'Holm (1979)',
  none: 'none',
}

/** What the numbers stand on, line by line. */
export function assumptionsOf(query: SweepQuery, tried: Sweep['tried']): string[] {
  const { minEvents, resamples, pboBlocks, seed } = query
  return [
    'Returns are from the close of the event to the close so many bars of the same ticker later, without costs; that close is known only when trading in it is over, so a trade has to take a later price (bands backtest).',
    `Base: every bar of the same ticker and dates on which the field has a band and whose window has elapsed${query.by === 'pool' ? '; each ticker counts in it as its events count' : ''}.`,
    `p (${shifts(query)}): the events stay where they are and the returns are rotated against them${query.by === 'pool' ? ', by the same number of days in all tickers' : ''}; the share of rotations with as great a difference, two-sided.`,
    `q: p corrected ${corrected(query, tried)}.`,
    `Cells with fewer than ${minEvents} events, or fewer than ${LEAST_UNITS} windows that share no bar, get no p and no interval, and count as looks with p = 1.`,
    `Intervals (95 %, of the difference): stationary bootstrap of the calendar, ${whole(resamples)} resamples, the same for all cells with about as many days and as long blocks.`,
    'Best of many: reality check and SPA ask for the greatest difference either way; all cells are resampled on the same days, in blocks as long as the median of those of the intervals.',
    `Sharpe ratios, and what is deflated and cross-validated (${pboBlocks} blocks): the mean return a day of all open positions, each event held long over its window, cash that earns nothing in between.`,
    ...validation(query),
    'The tickers are those that were asked for: ones that no longer trade may be missing among them (survivorship).',
    `Seed ${seed}: the same question of the same data gives the same bytes.`,
  ]
}

/** What a reader must know before believing a number. */
export function warningsOf(
  found: readonly Found[],
  query: SweepQuery,
  tried: Sweep['tried'],
  market: Market,
): string[] {
  const lost = found.reduce((sum, { events, sums }) => sum + events - sums.n, 0)
  const grey = tried.cells - tried.tested
  return [
    tried.tested === 0 ? 'No cell has enough events to be tested.' : null,
    tried.tested > 0 && grey > 0 ? `${whole(grey)} of ${whole(tried.cells)} cells have too few events for a p.` : null,
    resolution(found, query, tried),
    crowded(found, query),
    query.adjust === 'none'
      ? `p is not corrected for ${whole(tried.cells)} looks: one in twenty is below .05 by luck.`
      : null,
    lost > 0 ? `${whole(lost)} windows of events have not elapsed, or have no final price, and are left out.` : null,
    ...market.remarks(),
  ].filter(sentence => sentence !== null)
}

/** Where so few shifts are possible that one cell alone could not be found, whatever it did. */
function resolution(found: readonly Found[], { family }: SweepQuery, tried: Sweep['tried']): string | null {
  const least = found.reduce((min, { leastP }) => Math.min(min, leastP ?? 1), 1)
  const looks = family === 'ledger' ? tried.ledger! : tried.cells
  if (least === 1 || least * looks < CHOSEN_BELOW) return null
  const needed = Math.floor((least * looks) / CHOSEN_BELOW) + 1
  return `With ${whole(Math.round(1 / least) - 1)} shifts no p is below ${least.toPrecision(2)}: of ${whole(looks)} looks at least ${whole(needed)} must get there for their q to be below ${CHOSEN_BELOW}.`
}

/**
 * Below so many windows the shifts that a test leaves out, because they share windows with the unshifted events, are
 * many: of random walks of 1,240 days and windows of 100, 7 to 11 % of p are below .05, and 1.3 % below .002.
 */
const LEAST_ROOM = 20

function crowded(found: readonly Found[], query: SweepQuery): string | null {
  const some = query.horizons.filter(horizon =>
    found.some(({ key, room }) => key.horizon === horizon && room !== null && room < LEAST_ROOM),
  )
  if (some.length === 0) return null
  const windows = some.map(horizon => windowName(horizon, query)).join(', ')
  return `The days have room for fewer than ${LEAST_ROOM} windows of ${windows} that share no bar: p and q of such cells come out too small, above all the smallest; hold them against SPA and the validation.`
}

function shifts({ reps }: SweepQuery): string {
  return reps === 'all' ? 'every possible shift' : `${whole(reps)} drawn shifts where more than 2,000 are possible`
}

function corrected({ adjust, family }: SweepQuery, tried: Sweep['tried']): string {
  if (adjust === 'none') return 'for nothing'
  const looks =
    family === 'ledger' ? `${whole(tried.ledger!)} cells of the trial ledger` : `${whole(tried.cells)} cells`
  return `for all ${looks} by ${METHODS[adjust]}`
}

function validation({ split, walkForward, cv, cpcv }: SweepQuery): string[] {
  if ([split, walkForward, cv, cpcv].every(way => way === null)) return []
  return [
    `Validation: cells are chosen by a corrected p below ${CHOSEN_BELOW} on the training part alone (the best one where there is none) and held in the direction that they went there; no window of training meets one that is checked.`,
  ]
}
