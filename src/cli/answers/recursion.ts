import type { CheckRecursion, FieldRecursion, LateStart } from '../../local/check/result.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'
import { right, UNKNOWN, whoText } from '../render/statistics.js'
import { skippedNotes } from './check.js'

/** How much bands depend on the first bars; for machines a row a field and number of bars left out. */
export function recursionAnswer(found: CheckRecursion): Answer {
  const { tickers, timeframe, fields, dropped } = found
  return {
    document: () => found,
    columns: [
      ...['timeframe', 'field', 'dropped', 'tickers', 'bars', 'warming_up', 'differing', 'share'],
      ...['agree_after_median', 'agree_after_most', 'never'],
    ],
    rows: () => fields.flatMap(({ field, starts }) => starts.map((start): Row => ({ timeframe, field, ...start }))),
    blocks: () => [
      {
        title: [`${whoText(tickers)}  ${timeframe}`, `first bars left out: ${dropped.join(', ')}`],
        notes: verdict(fields),
      },
      {
        table: {
          columns: [
            { title: 'FIELD' },
            right('LEFT OUT'),
            right('BARS', 2),
            right('NO BAND YET', 3),
            right('DIFFER'),
            right('SHARE', 1),
            right('AGREE AFTER'),
            right('NEVER', 0),
          ],
          rows: fields
            .filter(hasBands)
            .flatMap(({ field, starts }) => starts.map((start, i) => [i === 0 ? field : '', ...startCells(start)])),
        },
        notes: [
          'BARS: those with a band, from the late start on. NO BAND YET: of these, the bars on which the late start has none yet. DIFFER: the bars on which it has another one. AGREE AFTER: bars from which on the bands are those of the whole for good, of the middle ticker and of the slowest. NEVER: tickers that differ on their last bar still.',
          ...skippedNotes(found.skipped),
        ],
      },
    ],
  }
}

/** What the table comes to, in sentences: which fields ask nothing of their history, which ask for how much. */
function verdict(fields: readonly FieldRecursion[]): string[] {
  const lacking = fields.filter(field => !hasBands(field)).map(({ field }) => field)
  const told = fields.filter(hasBands).map(({ field, starts }) => ({
    field,
    worst: Math.max(...starts.map(({ share }) => share ?? 0)),
    most: Math.max(...starts.map(({ agree_after }) => agree_after?.most ?? 0)),
    never: starts.some(({ never }) => never > 0),
  }))
  const free = told.filter(({ worst, never }) => worst === 0 && !never)
  const bound = told.filter(({ worst, never }) => worst > 0 || never).sort((a, b) => b.worst - a.worst)
  const lines = [
    told.length === 0
      ? 'No field has a band, so nothing was checked.'
      : `${count(bound.length, 'field')} of ${whole(told.length)} ${bound.length === 1 ? 'depends' : 'depend'} on where the bars begin.`,
  ]
  if (free.length > 0)
    lines.push(`Once there is a band, it is that of the whole: ${free.map(({ field }) => field).join(', ')}.`)
  if (bound.length > 0)
    lines.push(
      `Most bars that differ, and from which bar on they agree: ${bound
        .map(({ field, worst, most, never }) => `${field} ${percent(worst)}, ${never ? 'never' : whole(most)}`)
        .join('; ')}. What is seldom and soon forgotten does no harm; the rest needs all of a history to be repeated.`,
    )
  if (lacking.length > 0) lines.push(`Left out, having no band on any of these bars: ${lacking.join(', ')}.`)
  return lines
}

/** Fields of facts have none where no facts are loaded. */
function hasBands({ starts }: FieldRecursion): boolean {
  return starts.some(({ bars }) => bars > 0)
}

function startCells({ dropped, bars, warming_up, differing, share, agree_after, never }: LateStart): string[] {
  const percents = share === null ? UNKNOWN : percent(share)
  return [
    whole(dropped),
    whole(bars),
    whole(warming_up),
    whole(differing),
    percents,
    afterText(agree_after),
    whole(never),
  ]
}

function afterText(after: LateStart['agree_after']): string {
  if (after === null) return UNKNOWN
  return after.median === after.most ? whole(after.most) : `${whole(after.median)} to ${whole(after.most)}`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`
}
