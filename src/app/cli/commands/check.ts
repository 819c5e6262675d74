import { wrong } from '../../../core/errors.js'
import { isRuled } from '../../../core/language/as-field.js'
import { count, whole } from '../../../core/numbers.js'
import { LARGEST_SEED, ONE_OF_FIELDS, several } from '../../../core/params/figures.js'
import { integerOf } from '../../../core/params/kinds.js'
import { TIMEFRAME_ROW } from '../../../core/params/questions.js'
import { optional, optionsOf, withDefault } from '../../../core/params/row.js'
import { type CheckLookahead, checkLookahead, type Skipped } from '../../../data/local/check.js'
import type { Local } from '../../../data/local/local.js'
import { type Column, column, type Described, tableOf } from '../../present/description.js'
import { tickersText } from '../../present/words.js'
import type { Args, Command } from '../command.js'
import type { Context } from '../context.js'
import { POOL_OPTIONS, TICKERS } from '../options.js'
import { isPooled, tickersOfLine } from '../tickers.js'

const LOOKAHEAD = {
  field: optional(several(ONE_OF_FIELDS, 'FIELDS'), 'only these fields (default all)'),
  timeframe: TIMEFRAME_ROW,
  cuts: withDefault(integerOf(1, 10_000), 5, 'days at which the data are cut off'),
  seed: withDefault(integerOf(0, LARGEST_SEED), 1, 'other days for another number'),
}

/** The local database and the tickers of the line to check in it. Throws InvalidParameter if the line names none. */
async function lookaheadTickers(context: Context, args: Args): Promise<{ local: Local; tickers: string[] }> {
  const words = args.rest(0)
  if (words.length === 0 && !isPooled(args)) {
    const allowed = 'bands check lookahead TICKER..., or bands check lookahead --all'
    throw wrong('ticker', 'TICKER is missing.', { allowed })
  }
  const local = await context.local()
  return { local, tickers: await tickersOfLine(context, args, words, () => local.withBars()) }
}

/** The fields that are computed from bars and facts. A field with rules only combines these, so it needs no check. */
function checkableFields({ fields }: Context): string[] {
  return fields.all.filter(field => !isRuled(field)).map(({ name }) => name)
}

const lookahead: Command = {
  arguments: [TICKERS],
  options: [...POOL_OPTIONS, ...optionsOf(LOOKAHEAD)],
  needsOneOf: ['--all', '--tickers', '--watch'],
  examples: ['bands check lookahead AAPL', 'bands check lookahead --all --field rsi_zone --cuts 20'],
  notes: [
    'Bars and facts are cut off at random days and everything is derived anew. Bands, events and later returns must be the same as from all data. Exits with 5 if one is not.',
  ],
  async run(context, args) {
    const { field: fields = checkableFields(context), ...asked } = args.read(LOOKAHEAD, context.fields)
    const { local, tickers } = await lookaheadTickers(context, args)
    const found = await checkLookahead(local, { ...asked, tickers, fields }, { step: context.step })
    await context.show(describeLookahead(found))
    if (!found.passed) context.exitCode = 5
  },
}

export const commands = { 'check lookahead': lookahead }

/** Describes a check: for each field, whether truncated data give the same bands for earlier days. */
function describeLookahead(found: CheckLookahead): Described {
  const { tickers, timeframe, fields, cuts, seed, aftermath, differences, skipped } = found
  // A field without events could not show look-ahead bias.
  const [tested, untested] = partition(fields, field => field.events > 0 || field.differences > 0)
  const none = `Not tested, because ${untested.length === 1 ? 'it' : 'they'} had no event by these days`
  return {
    document: found,
    columns: ['timeframe', 'field', 'series', 'bars', 'events', 'differences'],
    rows: fields.map(field => ({ timeframe, ...field })),
    paragraphs: [
      {
        heading: [`${tickersText(tickers)}  ${timeframe}`, `cut off at ${count(cuts.length, 'day')}`, `seed ${seed}`],
        parts: [
          { notes: [lookaheadVerdict(found, tested.length), ...namesSentence(none, untested)] },
          { table: tableOf('Fields', FIELD_COLUMNS, tested) },
          {
            notes: [
              `Later returns: ${whole(aftermath.compared)} windows compared, ${whole(aftermath.differences)} differ.`,
              ...skippedNotes(skipped),
            ],
          },
        ],
      },
      ...(differences.length === 0
        ? []
        : [
            {
              heading: ['First differences'],
              parts: [{ table: tableOf('Differences', DIFFERENCE_COLUMNS, differences) }],
            },
          ]),
    ],
  }
}

const FIELD_COLUMNS: readonly Column<CheckLookahead['fields'][number]>[] = [
  ...[column('field'), column('series', 'count', { spare: 1 }), column('bars', 'count'), column('events', 'count')],
  { ...column('differences', 'count'), tone: ({ differences }) => (differences === 0 ? undefined : 'bad') },
]

const DIFFERENCE_COLUMNS: readonly Column<CheckLookahead['differences'][number]>[] = [
  ...[column('ticker'), column('field'), column('cut'), column('date'), column('what', 'text', { spare: 1 })],
  ...[column('whole'), column('cut_off')],
]

function lookaheadVerdict({ passed }: CheckLookahead, tested: number): string {
  if (tested === 0) return 'Nothing was tested.'
  if (!passed) return 'NOT PASSED.'
  return `Passed: of ${count(tested, 'field')}, nothing that is shown of a day knows what came after it.`
}

/** The most tickers that a sentence names. */
const MAX_NAMED_TICKERS = 5

function skippedNotes(skipped: readonly Skipped[]): string[] {
  const reasons = new Map<string, string[]>()
  for (const { ticker, reason } of skipped) reasons.set(reason, [...(reasons.get(reason) ?? []), ticker])
  return [...reasons].map(([reason, tickers]) => {
    const more = tickers.length > MAX_NAMED_TICKERS ? ` and ${tickers.length - MAX_NAMED_TICKERS} more` : ''
    return `Left out: ${tickers.slice(0, MAX_NAMED_TICKERS).join(', ')}${more} (${reason}).`
  })
}

/** Splits a list into the items that pass a test, and the others. */
function partition<Item>(items: readonly Item[], passes: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(passes), items.filter(item => !passes(item))]
}

/** A sentence that lists fields after a text; no sentence without fields. */
function namesSentence(text: string, fields: readonly { field: string }[]): string[] {
  return fields.length === 0 ? [] : [`${text}: ${fields.map(({ field }) => field).join(', ')}.`]
}
