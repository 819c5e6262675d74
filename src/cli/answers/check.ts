import type { CheckLookahead, CheckRecursion, LateStart, Skipped } from '../../local/check/result.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'
import { right, UNKNOWN, whoText } from '../render/statistics.js'
import type { Block } from '../render/table.js'

/** Whether data that are cut off tell the same of the days before; for machines a row a field. */
export function lookaheadAnswer(found: CheckLookahead): Answer {
  const { tickers, timeframe, fields, cuts, aftermath, passed, differences } = found
  return {
    document: () => found,
    columns: ['timeframe', 'field', 'series', 'bars', 'events', 'differences'],
    rows: () => fields.map((field): Row => ({ timeframe, ...field })),
    blocks: () => [
      {
        title: [`${whoText(tickers)}  ${timeframe}`, `cut off at ${count(cuts.length, 'day')}`, `seed ${found.seed}`],
        table: {
          columns: [{ title: 'FIELD' }, right('SERIES', 1), right('BARS'), right('EVENTS'), right('DIFFERENCES')],
          rows: fields.map(row => [
            row.field,
            whole(row.series),
            whole(row.bars),
            whole(row.events),
            row.differences === 0 ? '0' : { text: whole(row.differences), tone: 'bad' as const },
          ]),
        },
        notes: [
          `What followed: ${whole(aftermath.compared)} windows compared, ${whole(aftermath.differences)} differ.`,
          passed ? 'Nothing that is shown of a day knows what came after it.' : 'NOT PASSED.',
          ...skippedNotes(found.skipped),
        ],
      },
      ...(differences.length === 0 ? [] : [differencesBlock(found)]),
    ],
  }
}

function differencesBlock({ differences }: CheckLookahead): Block {
  return {
    title: ['First differences'],
    table: {
      columns: [
        { title: 'TICKER' },
        { title: 'FIELD' },
        { title: 'CUT' },
        { title: 'DATE' },
        { title: 'WHAT', spare: 1 },
        { title: 'WHOLE' },
        { title: 'CUT OFF' },
      ],
      rows: differences.map(({ ticker, field, cut, date, what, whole: all, cut_off }) => [
        ticker,
        field ?? UNKNOWN,
        cut,
        date,
        what,
        all ?? UNKNOWN,
        cut_off ?? UNKNOWN,
      ]),
    },
  }
}

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
        table: {
          columns: [
            { title: 'FIELD' },
            right('LEFT OUT'),
            right('BARS', 2),
            right('WARMING UP', 3),
            right('DIFFER'),
            right('SHARE', 1),
            right('AGREE AFTER'),
            right('NEVER', 0),
          ],
          rows: fields.flatMap(({ field, starts }) =>
            starts.map((start, i) => [i === 0 ? field : '', ...startCells(start)]),
          ),
        },
        notes: [
          'AGREE AFTER: bars from which on the bands are those of the whole for good, of the middle ticker and of the slowest. NEVER: tickers that differ on their last bar still.',
          ...skippedNotes(found.skipped),
        ],
      },
    ],
  }
}

function startCells({ dropped, bars, warming_up, differing, share, agree_after, never }: LateStart): string[] {
  const percent = share === null ? UNKNOWN : `${(share * 100).toFixed(2)}%`
  const after = agree_after === null ? UNKNOWN : `${whole(agree_after.median)} to ${whole(agree_after.most)}`
  return [whole(dropped), whole(bars), whole(warming_up), whole(differing), percent, after, whole(never)]
}

/** As many tickers as a line names. */
const NAMED = 5

function skippedNotes(skipped: readonly Skipped[]): string[] {
  const reasons = new Map<string, string[]>()
  for (const { ticker, reason } of skipped) reasons.set(reason, [...(reasons.get(reason) ?? []), ticker])
  return [...reasons].map(([reason, tickers]) => {
    const more = tickers.length > NAMED ? ` and ${tickers.length - NAMED} more` : ''
    return `Left out: ${tickers.slice(0, NAMED).join(', ')}${more} (${reason}).`
  })
}
