import { wrong } from '../../errors.js'
import { isRuled } from '../../language/as-field.js'
import {
  type CheckLookahead,
  type CheckRecursion,
  checkLookahead,
  checkRecursion,
  DROPPED,
  type FieldRecursion,
  type Skipped,
} from '../../local/check.js'
import type { Local } from '../../local/local.js'
import { LARGEST_SEED, ONE_OF_FIELDS, several } from '../../params/figures.js'
import { integerOf } from '../../params/kinds.js'
import { TIMEFRAME_ROW } from '../../params/questions.js'
import { open, given as optional, optionsOf } from '../../params/row.js'
import { type Column, column, type Described, tableOf } from '../../present/description.js'
import { count, whole } from '../../present/numbers.js'
import { whoText } from '../../present/words.js'
import type { Command, Given } from '../command.js'
import type { Context } from '../context.js'
import { POOLED } from '../options.js'
import { allNamed, isPooled } from '../tickers.js'

const CHECKED = {
  fields: open(several(ONE_OF_FIELDS, 'FIELDS'), 'only these fields; every one unless given'),
  timeframe: TIMEFRAME_ROW,
}
const LOOKAHEAD = {
  ...CHECKED,
  cuts: optional(integerOf(1, 10_000), 5, 'days at which the data are cut off'),
  seed: optional(integerOf(0, LARGEST_SEED), 1, 'other days for another number'),
}
const RECURSION = {
  ...CHECKED,
  drop: open(
    several(integerOf(1, 1_000_000), 'BARS'),
    `leave out so many of the first bars; ${DROPPED.join(',')} unless given`,
  ),
}

const TICKERS = [
  ['[TICKER...]', 'tickers (A B, A,B, @FILE, or - for standard input); left out with --tickers or --all'],
] as const

/** Bars of this database, since a check derives everything anew, and the tickers that are meant. Throws InvalidParameter. */
async function checked(context: Context, given: Given, name: string): Promise<{ local: Local; tickers: string[] }> {
  const words = given.rest(0)
  if (words.length === 0 && !isPooled(given)) {
    const allowed = `bands check ${name} TICKER..., or bands check ${name} --all`
    throw wrong('ticker', 'TICKER is missing.', { allowed })
  }
  const local = await context.local()
  return { local, tickers: await allNamed(context, given, words, () => local.withBars()) }
}

/** What is made of bars and facts: fields that stand on others are right when those are. */
function checkable({ fields }: Context): string[] {
  return fields.all.filter(field => !isRuled(field)).map(({ name }) => name)
}

const lookahead: Command = {
  arguments: TICKERS,
  options: [...POOLED, ...optionsOf(LOOKAHEAD)],
  examples: ['bands check lookahead AAPL', 'bands check lookahead --all --fields rsi_zone --cuts 20'],
  notes: [
    'Bars and facts are cut off at random days and everything is derived anew: bands, events and what followed must be those that the whole shows of these days. Exits with 5 where one is not.',
  ],
  async run(context, given) {
    const { fields = checkable(context), ...asked } = given.read(LOOKAHEAD, context.fields)
    const { local, tickers } = await checked(context, given, 'lookahead')
    const found = await checkLookahead(local, { ...asked, tickers, fields }, { step: context.step })
    await context.show(describeLookahead(found))
    if (!found.passed) context.outcome = 5
  },
}

const recursion: Command = {
  arguments: TICKERS,
  options: [...POOLED, ...optionsOf(RECURSION)],
  examples: ['bands check recursion AAPL', 'bands check recursion --all --fields rsi_zone,macd_state --drop 50,200'],
  notes: [
    'How many bars a history needs before its bands can be trusted: recursive indicators forget their begin slowly. The bars of each ticker are made to begin later, and the bands compared with those of the whole.',
  ],
  async run(context, given) {
    const { fields = checkable(context), drop: dropped = DROPPED, timeframe } = given.read(RECURSION, context.fields)
    const { local, tickers } = await checked(context, given, 'recursion')
    const found = await checkRecursion(local, { tickers, fields, timeframe, dropped }, { step: context.step })
    await context.show(describeRecursion(found))
  },
}

export const commands = { 'check lookahead': lookahead, 'check recursion': recursion }

/** Whether data that are cut off tell the same of the days before; for machines a row a field. */
function describeLookahead(found: CheckLookahead): Described {
  const { tickers, timeframe, fields, cuts, seed, aftermath, differences, skipped } = found
  // A field without an event has shown nothing that could have looked ahead.
  const [tested, untested] = parted(fields, field => field.events > 0 || field.differences > 0)
  const none = `Not tested, because ${untested.length === 1 ? 'it' : 'they'} had no event by these days`
  return {
    document: found,
    columns: ['timeframe', 'field', 'series', 'bars', 'events', 'differences'],
    rows: fields.map(field => ({ timeframe, ...field })),
    paragraphs: [
      {
        heading: [`${whoText(tickers)}  ${timeframe}`, `cut off at ${count(cuts.length, 'day')}`, `seed ${seed}`],
        parts: [
          { notes: [lookaheadVerdict(found, tested.length), ...named(none, untested)] },
          { table: tableOf('Fields', TESTED, tested) },
          {
            notes: [
              `What followed: ${whole(aftermath.compared)} windows compared, ${whole(aftermath.differences)} differ.`,
              ...skippedNotes(skipped),
            ],
          },
        ],
      },
      ...(differences.length === 0
        ? []
        : [{ heading: ['First differences'], parts: [{ table: tableOf('Differences', DIFFERENCES, differences) }] }]),
    ],
  }
}

const TESTED: readonly Column<CheckLookahead['fields'][number]>[] = [
  ...[column('field'), column('series', 'count', { spare: 1 }), column('bars', 'count'), column('events', 'count')],
  { ...column('differences', 'count'), tone: ({ differences }) => (differences === 0 ? undefined : 'bad') },
]

const DIFFERENCES: readonly Column<CheckLookahead['differences'][number]>[] = [
  ...[column('ticker'), column('field'), column('cut'), column('date'), column('what', 'text', { spare: 1 })],
  ...[column('whole'), column('cut_off')],
]

function lookaheadVerdict({ passed }: CheckLookahead, tested: number): string {
  if (tested === 0) return 'Nothing was tested.'
  if (!passed) return 'NOT PASSED.'
  return `Passed: of ${count(tested, 'field')}, nothing that is shown of a day knows what came after it.`
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

/** How much bands depend on the first bars; for machines a row a field and number of bars left out. */
function describeRecursion(found: CheckRecursion): Described {
  const { tickers, timeframe, fields, dropped } = found
  // Fields of facts have no band where no facts are loaded.
  const [banded, lacking] = parted(fields, ({ starts }) => starts.some(({ bars }) => bars > 0))
  const lines = banded.flatMap(({ field, starts }) =>
    starts.map((start, i) => ({ ...start, field: i === 0 ? field : '' })),
  )
  return {
    document: found,
    columns: [
      ...['timeframe', 'field', 'dropped', 'tickers', 'bars', 'warming_up', 'differing', 'share'],
      ...['agree_after_median', 'agree_after_most', 'never'],
    ],
    rows: fields.flatMap(({ field, starts }) => starts.map(start => ({ timeframe, field, ...start }))),
    paragraphs: [
      {
        heading: [`${whoText(tickers)}  ${timeframe}`, `first bars left out: ${dropped.join(', ')}`],
        parts: [
          {
            notes: [...recursionVerdict(banded), ...named('Left out, having no band on any of these bars', lacking)],
          },
          { table: tableOf('Starts', STARTS, lines) },
          { notes: [BARS_EXPLAINED, ...skippedNotes(found.skipped)] },
        ],
      },
    ],
  }
}

const BARS_EXPLAINED =
  'BARS: those with a band, from the late start on. NO BAND YET: of these, the bars on which the late start has none yet. DIFFER: the bars on which it has another one. AGREE AFTER: bars from which on the bands are those of the whole for good, of the middle ticker and of the slowest. NEVER: tickers that differ on their last bar still.'

const STARTS: readonly Column<FieldRecursion['starts'][number] & { field: string }>[] = [
  column('field'),
  column('dropped', 'count', { title: 'left out' }),
  column('bars', 'count', { spare: 2 }),
  column('warming_up', 'count', { title: 'no band yet', spare: 3 }),
  column('differing', 'count', { title: 'differ' }),
  { title: 'share', kind: 'share', spare: 1, of: ({ share }) => (share === null ? null : percent(share)) },
  { title: 'agree after', kind: 'bars', of: ({ agree_after: after }) => after && barsText(after) },
  column('never', 'count', { spare: 0 }),
]

function barsText({ median, most }: { median: number; most: number }): string {
  return [...new Set([median, most])].map(whole).join(' to ')
}

/** What the table comes to, in sentences: which fields ask nothing of their history, which ask for how much. */
function recursionVerdict(fields: readonly FieldRecursion[]): string[] {
  if (fields.length === 0) return ['No field has a band, so nothing was checked.']
  const worsts = fields.map(({ field, starts }) => ({
    field,
    share: Math.max(...starts.map(({ share }) => share ?? 0)),
    bars: starts.some(({ never }) => never > 0)
      ? 'never'
      : whole(Math.max(...starts.map(({ agree_after }) => agree_after?.most ?? 0))),
  }))
  const [bound, free] = parted(worsts, ({ share, bars }) => share > 0 || bars === 'never')
  const most = bound
    .sort((a, b) => b.share - a.share)
    .map(({ field, share, bars }) => `${field} ${percent(share)}, ${bars}`)
  return [
    `${count(bound.length, 'field')} of ${whole(fields.length)} ${bound.length === 1 ? 'depends' : 'depend'} on where the bars begin.`,
    ...named('Once there is a band, it is that of the whole', free),
    ...(most.length === 0
      ? []
      : [
          `Most bars that differ, and from which bar on they agree: ${most.join('; ')}. What is seldom and soon forgotten does no harm; the rest needs all of a history to be repeated.`,
        ]),
  ]
}

/** Those of which something holds, and the others. */
function parted<One>(all: readonly One[], holds: (one: One) => boolean): [One[], One[]] {
  return [all.filter(holds), all.filter(one => !holds(one))]
}

/** A sentence that names fields; none without any. */
function named(what: string, fields: readonly { field: string }[]): string[] {
  return fields.length === 0 ? [] : [`${what}: ${fields.map(({ field }) => field).join(', ')}.`]
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`
}
