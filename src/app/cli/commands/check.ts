import { wrong } from '../../../core/errors.js'
import { isRuled } from '../../../core/language/as-field.js'
import { count, numberText } from '../../../core/numbers.js'
import { LARGEST_SEED, listKind, ONE_OF_FIELDS } from '../../../core/params/figures.js'
import { integerOf } from '../../../core/params/kinds.js'
import { TIMEFRAME_ROW } from '../../../core/params/questions.js'
import { optional, optionsOf, withDefault } from '../../../core/params/row.js'
import { type CheckLookahead, checkLookahead, type Skipped } from '../../../data/local/check.js'
import type { Local } from '../../../data/local/local.js'
import { type Column, column, type Described, type Paragraph, tablePart } from '../../present/description.js'
import { tickersText } from '../../present/words.js'
import type { Args, Command } from '../command.js'
import type { Context } from '../context.js'
import { TICKERS, TICKERS_OPTIONS } from '../options.js'
import { hasTickersOption, tickersOfLine } from '../tickers.js'

const LOOKAHEAD = {
  field: optional(listKind(ONE_OF_FIELDS, 'FIELDS'), 'only these fields (default all)'),
  timeframe: TIMEFRAME_ROW,
  cuts: withDefault(integerOf(1, 10_000), 5, 'days at which the data are cut off'),
  seed: withDefault(integerOf(0, LARGEST_SEED), 1, 'other days for another number'),
}

/** The local database and the tickers of the line to check in it. Throws InvalidParameter if the line names none. */
async function lookaheadTickers(context: Context, args: Args): Promise<{ local: Local; tickers: string[] }> {
  const words = args.argumentList(0)
  if (words.length === 0 && !hasTickersOption(args)) {
    const allowed = 'bands check lookahead TICKER..., or bands check lookahead --all'
    throw wrong('ticker', 'TICKER is missing.', { allowed })
  }
  const local = await context.local()
  return { local, tickers: await tickersOfLine(context, args, words, () => local.withBars()) }
}

const lookahead: Command = {
  arguments: [TICKERS],
  options: [...TICKERS_OPTIONS, ...optionsOf(LOOKAHEAD)],
  needsOneOf: ['--all', '--tickers', '--watch'],
  examples: ['bands check lookahead AAPL', 'bands check lookahead --all --field rsi_zone --cuts 20'],
  notes: [
    'Bars and facts are cut off at random days and everything is derived anew. Bands, events and later returns must be the same as from all data. Exits with 5 if one is not.',
  ],
  async run(context, args) {
    // A field with rules only combines others, so it needs no check.
    const computedFields = context.fields.all.filter(field => !isRuled(field)).map(({ name }) => name)
    const { field: fields = computedFields, ...options } = args.read(LOOKAHEAD, context.fields)
    const { local, tickers } = await lookaheadTickers(context, args)
    const result = await checkLookahead(local, { ...options, tickers, fields }, { step: context.step })
    await context.show(describeLookahead(result))
    if (!result.passed) context.exitCode = 5
  },
}

export const commands = { 'check lookahead': lookahead }

/** Describes a check: for each field, whether truncated data give the same bands for earlier days. */
function describeLookahead(result: CheckLookahead): Described {
  const { tickers, timeframe, fields, cuts, seed, aftermath, differences, skipped } = result
  // A field without events could not show look-ahead bias.
  const isTested = (field: CheckLookahead['fields'][number]): boolean => field.events > 0 || field.differences > 0
  const tested = fields.filter(isTested)
  const untested = fields.filter(field => !isTested(field))
  const untestedReason = `Not tested, because ${untested.length === 1 ? 'it' : 'they'} had no event by these days`
  const untestedNames = untested.map(({ field }) => field).join(', ')
  const verdict = lookaheadVerdict(result, tested.length)
  const laterReturns = `Later returns: ${numberText(aftermath.compared)} windows compared, ${numberText(aftermath.differences)} differ.`
  const paragraphs: Paragraph[] = [
    {
      heading: [`${tickersText(tickers)}  ${timeframe}`, `cut off at ${count(cuts.length, 'day')}`, `seed ${seed}`],
      parts: [
        { notes: untested.length === 0 ? [verdict] : [verdict, `${untestedReason}: ${untestedNames}.`] },
        tablePart('Fields', FIELD_COLUMNS, tested),
        { notes: [laterReturns, ...skippedNotes(skipped)] },
      ],
    },
  ]
  const differencesPart = tablePart('Differences', DIFFERENCE_COLUMNS, differences)
  if (differences.length > 0) paragraphs.push({ heading: ['First differences'], parts: [differencesPart] })
  return {
    document: result,
    columns: ['timeframe', 'field', 'series', 'bars', 'events', 'differences'],
    rows: fields.map(field => ({ timeframe, ...field })),
    paragraphs,
  }
}

const FIELD_COLUMNS: readonly Column<CheckLookahead['fields'][number]>[] = [
  ...[column('field'), column('series', 'count', { hidePriority: 1 })],
  ...[column('bars', 'count'), column('events', 'count')],
  { ...column('differences', 'count'), tone: ({ differences }) => (differences === 0 ? undefined : 'bad') },
]

const DIFFERENCE_COLUMNS: readonly Column<CheckLookahead['differences'][number]>[] = [
  ...[column('ticker'), column('field'), column('cut'), column('date'), column('what', 'text', { hidePriority: 1 })],
  ...[column('whole'), column('cut_off')],
]

/** The sentence about the outcome of a check. @param testedFields the number of fields with events to compare */
function lookaheadVerdict({ passed }: CheckLookahead, testedFields: number): string {
  if (testedFields === 0) return 'Nothing was tested.'
  if (!passed) return 'NOT PASSED.'
  return `Passed: of ${count(testedFields, 'field')}, nothing that is shown of a day knows what came after it.`
}

const MAX_NAMED_TICKERS = 5

function skippedNotes(skipped: readonly Skipped[]): string[] {
  return [...Map.groupBy(skipped, ({ reason }) => reason)].map(([reason, group]) => {
    const names = group.slice(0, MAX_NAMED_TICKERS).map(({ ticker }) => ticker)
    const more = group.length > MAX_NAMED_TICKERS ? ` and ${group.length - MAX_NAMED_TICKERS} more` : ''
    return `Left out: ${names.join(', ')}${more} (${reason}).`
  })
}
