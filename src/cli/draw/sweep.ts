import type { Sweep, SweepCell } from '../../sweep/result.js'
import {
  greyed,
  probability,
  ratio,
  returnCell,
  returnRange,
  returnText,
  right,
  shareText,
  UNKNOWN,
  whoText,
} from './statistics.js'
import { type Block, type Cell, type Column, count, whole } from './table.js'

export interface SweepStyle {
  /** Rows of the table. */
  limit: number
  wide: boolean
}

/** How many combinations were tried first, then the best of them, and whether the best one is real. */
export function sweepBlocks(found: Sweep, { limit, wide }: SweepStyle): Block[] {
  if (found.cells.every(({ events }) => events === 0))
    return [{ title: title(found), notes: [nothing(found), ...found.warnings] }]
  const shown = found.cells.slice(0, limit)
  return [
    { title: title(found), notes: [tried(found), assumed(found)] },
    { table: { columns: COLUMNS, rows: shown.map(cellRow) }, notes: below(found, shown) },
    best(found),
    ...validation(found),
    ...(wide ? [{ title: ['Assumed'], notes: found.assumptions }] : []),
    ...(found.warnings.length === 0 ? [] : [{ notes: found.warnings }]),
  ]
}

/** Without an event there is no cell to show and no best one. */
function nothing({ tickers, tried: { cells } }: Sweep): string {
  const who = tickers.length === 1 ? tickers[0]! : `none of ${whole(tickers.length)} tickers`
  const what = tickers.length === 1 ? 'did not enter any band' : 'entered any band'
  return `No event: ${who} ${what} as it was asked for; ${count(cells, 'combination')} had nothing to show.`
}

function title({ tickers, timeframe, fields, first, last, as_of }: Sweep): string[] {
  return [
    `${whoText(tickers)}  ${fields.length <= 2 ? fields.join(', ') : count(fields.length, 'field')}  ${timeframe}`,
    ...(first === null ? [] : [`${first} to ${last}`]),
    ...(as_of === null ? [] : [`as of ${as_of}`]),
  ]
}

function tried({ tried: { cells, tested, ledger }, found, family, adjust }: Sweep): string {
  const ever = ledger === null ? '' : `; ${count(ledger, 'cell')} so far in the ledger of trials`
  const among = family === 'ledger' ? 'all of the ledger' : 'this run'
  const how = adjust === 'none' ? 'not corrected' : `corrected over ${among}`
  return `${count(cells, 'combination')} tried, ${whole(tested)} with enough events for a p-value${ever}. ${whole(found)} found with q below .05, ${how}.`
}

/** The long form stands in the document, in the report, and at the end with `wide`. */
function assumed({ tickers, reps, adjust, resamples, seed }: Sweep): string {
  const same = tickers.length === 1 ? 'ticker' : 'tickers'
  const shifts = reps === null ? 'every one' : `every one up to 2,000, else ${whole(reps)} drawn`
  return [
    `Close to close, without costs, against any bar of the same ${same} and dates.`,
    `P: joint circular shift (${shifts}); Q: P ${CORRECTED[adjust]}; 95%: block bootstrap (${whole(resamples)} draws); seed ${seed}.`,
    'The tickers are those that were asked for (survivorship).',
  ].join(' ')
}

const CORRECTED: Readonly<Record<Sweep['adjust'], string>> = {
  bh: 'by Benjamini-Hochberg',
  by: 'by Benjamini-Yekutieli',
  holm: 'by Holm',
  none: 'as it is',
}

/** What makes a cell stands last, where it may go on in lines below; sorted by the first column. */
const COLUMNS: readonly Column[] = [
  right('Q'),
  right('P', 3),
  right('N', 0),
  right('INDEP', 5),
  right('MEAN', 4),
  right('ANY BAR', 7),
  right('DIFF'),
  right('95%', 8),
  right('HIT', 6),
  right('T', 9),
  { title: 'CELL', wraps: true },
]

function cellRow(cell: SweepCell): Cell[] {
  const { q, p, n, n_indep, mean, base, diff, hit, t, grey } = cell
  const cells: Cell[] = [
    probability(q),
    probability(p),
    whole(n),
    whole(n_indep),
    returnCell(mean),
    returnText(base),
    returnCell(diff),
    returnRange(cell),
    shareText(hit),
    ratio(t),
    cellText(cell),
  ]
  return greyed(cells, grey)
}

/** `AAPL rsi_zone = oversold from neutral, 20d, GSPC trend_direction = downtrend`. */
function cellText({ ticker, field, band, prev_band, context, window }: SweepCell): string {
  const who = ticker === null ? '' : `${ticker} `
  const left = prev_band === null ? '' : ` from ${prev_band}`
  const beside = context === null ? '' : `, ${context.ticker} ${context.field} = ${context.band}`
  return `${who}${field} = ${band}${left}, ${window}${beside}`
}

function below({ cells, min_events }: Sweep, shown: readonly SweepCell[]): string[] {
  const lines: string[] = []
  const more = cells.length - shown.length
  if (more > 0) lines.push(`${whole(more)} more: --limit ${cells.length}, or --json, --csv and --cells FILE have all.`)
  if (shown.some(cell => cell.grey))
    lines.push(`Without P: fewer than ${whole(min_events)} events, or than 10 independent windows; counted as tried.`)
  return lines
}

/** Whether chance alone would have brought up one as good; each with the reason where it cannot be told. */
function best({ best: found }: Sweep): Block {
  const { cells, resamples, reality_check, spa, deflated_sharpe, best_sharpe, pbo, reasons } = found
  const why = (name: string): string => reasons[name] ?? 'not told'
  const check = reality_check === null ? why('reality_check') : `p ${probability(reality_check)}`
  const ability =
    spa === null
      ? why('spa')
      : `p ${probability(spa.consistent)}, between ${probability(spa.lower)} and ${probability(spa.upper)}`
  const sharpe =
    deflated_sharpe === null
      ? why('deflated_sharpe')
      : `${probability(deflated_sharpe)}, the probability that its ${ratio(best_sharpe, 3)} a bar, the rise of the market included, is above what so many looks bring up`
  const overfit =
    pbo === null
      ? why('pbo')
      : `${probability(pbo.probability)}, how often the best of one half of the days is below the median of the other (${whole(pbo.splits)} splits)`
  const named = (cell: string | null): string => (cell === null ? '' : ` of ${cell}`)
  return {
    title: [`Is the best of ${whole(cells)} real?`, count(resamples, 'resample')],
    notes: [
      `Reality check (White), of the differences from any bar: ${check}.`,
      `Superior predictive ability (Hansen)${named(found.best_cell)}: ${ability}.`,
      `Deflated Sharpe ratio, of holding after${found.best_sharpe_cell === null ? ' events' : ` ${found.best_sharpe_cell}`}: ${sharpe}.`,
      `Probability of overfitting (CSCV): ${overfit}.`,
    ].map(text => text.replace(/\.\.$/, '.')),
  }
}

function validation({ validation: found }: Sweep): Block[] {
  if (found === null) return []
  const { kind, folds, test, paths } = found
  const rows = folds.map(({ name, test: parts, purged, chosen, train_mean, test_mean }): Cell[] => [
    name,
    `${parts[0]?.from ?? UNKNOWN} to ${parts.at(-1)?.to ?? UNKNOWN}`,
    whole(purged),
    whole(chosen.length),
    returnCell(train_mean),
    returnCell(test_mean),
  ])
  const all = `Chosen cells on data that did not choose them: n ${whole(test.n)}, mean ${returnText(test.mean)}, any bar ${returnText(test.base)}, difference ${returnText(test.diff)}, hit ${shareText(test.hit)}.`
  return [
    {
      title: [KINDS[kind]],
      table: {
        columns: [
          { title: 'PART' },
          { title: 'TESTED ON', spare: 1 },
          right('PURGED', 2),
          right('CHOSEN'),
          right('TRAIN MEAN'),
          right('TEST MEAN'),
        ],
        rows,
        whole: 'json',
      },
      notes: [all, ...(paths === null ? [] : [`Mean of each path: ${paths.map(returnText).join(', ')}.`])],
    },
  ]
}

const KINDS = {
  split: 'Before and after the split',
  walk_forward: 'Walk-forward',
  cv: 'Purged cross-validation',
  cpcv: 'Combinatorial purged cross-validation',
} as const
