import type { CheckLookahead, FieldLookahead, Skipped } from '../../local/check/result.js'
import type { Answer } from '../output.js'
import { count, whole } from '../render/amounts.js'
import type { Row } from '../render/records.js'
import { right, UNKNOWN, whoText } from '../render/statistics.js'
import type { Block } from '../render/table.js'

/** Whether data that are cut off tell the same of the days before; for machines a row a field. */
export function lookaheadAnswer(found: CheckLookahead): Answer {
  const { tickers, timeframe, fields, cuts, aftermath, differences } = found
  return {
    document: () => found,
    columns: ['timeframe', 'field', 'series', 'bars', 'events', 'differences'],
    rows: () => fields.map((field): Row => ({ timeframe, ...field })),
    blocks: () => [
      {
        title: [`${whoText(tickers)}  ${timeframe}`, `cut off at ${count(cuts.length, 'day')}`, `seed ${found.seed}`],
        notes: verdict(found),
      },
      {
        table: {
          columns: [{ title: 'FIELD' }, right('SERIES', 1), right('BARS'), right('EVENTS'), right('DIFFERENCES')],
          rows: fields
            .filter(field => !isUntested(field))
            .map(row => [
              row.field,
              whole(row.series),
              whole(row.bars),
              whole(row.events),
              row.differences === 0 ? '0' : { text: whole(row.differences), tone: 'bad' as const },
            ]),
        },
        notes: [
          `What followed: ${whole(aftermath.compared)} windows compared, ${whole(aftermath.differences)} differ.`,
          ...skippedNotes(found.skipped),
        ],
      },
      ...(differences.length === 0 ? [] : [differencesBlock(found)]),
    ],
  }
}

/** A field without an event has shown nothing that could have looked ahead. */
function verdict({ fields, passed }: CheckLookahead): string[] {
  const untested = fields.filter(isUntested).map(({ field }) => field)
  const tested = fields.length - untested.length
  const said = passed
    ? `Passed: of ${count(tested, 'field')}, nothing that is shown of a day knows what came after it.`
    : 'NOT PASSED.'
  if (untested.length === 0) return [said]
  const none = `Not tested, because ${untested.length === 1 ? 'it' : 'they'} had no event by these days: ${untested.join(', ')}.`
  return tested === 0 ? ['Nothing was tested.', none] : [said, none]
}

function isUntested({ events, differences }: FieldLookahead): boolean {
  return events === 0 && differences === 0
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

/** As many tickers as a line names. */
const NAMED = 5

export function skippedNotes(skipped: readonly Skipped[]): string[] {
  const reasons = new Map<string, string[]>()
  for (const { ticker, reason } of skipped) reasons.set(reason, [...(reasons.get(reason) ?? []), ticker])
  return [...reasons].map(([reason, tickers]) => {
    const more = tickers.length > NAMED ? ` and ${tickers.length - NAMED} more` : ''
    return `Left out: ${tickers.slice(0, NAMED).join(', ')}${more} (${reason}).`
  })
}
