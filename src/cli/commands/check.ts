import { InvalidParameter } from '../../errors.js'
import { FIELDS } from '../../fields/index.js'
import {
  type CheckLookahead,
  type CheckRecursion,
  checkLookahead,
  type FieldLookahead,
  type FieldRecursion,
  type LateStart,
  type Skipped,
} from '../../local/check-lookahead.js'
import { checkRecursion, DROPPED } from '../../local/check-recursion.js'
import type { Local } from '../../local/local.js'
import type { Timeframe } from '../../model/terms.js'
import { LARGEST_SEED } from '../../params/figures.js'
import type { OptionSpec } from '../../params/row.js'
import { fieldValue, integerValue, timeframeValue } from '../../params/values.js'
import { count, UNKNOWN, whole } from '../../present/numbers.js'
import { whoText } from '../../present/words.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { type Block, type Row, right } from '../draw/table.js'
import type { Given } from '../given.js'
import { POOLED, TIMEFRAME } from '../options.js'
import type { Answer } from '../output.js'
import { allNamed, isPooled } from '../questions.js'

const CHECKED: NonNullable<Command['arguments']> = [
  ['[TICKER...]', 'tickers (A B, A,B, @FILE, or - for standard input); left out with --tickers or --all'],
]

const CHECK_OPTIONS: readonly OptionSpec[] = [
  ...POOLED,
  ['--fields <FIELDS>', 'only these fields; every one unless given', 'repeatable'],
  TIMEFRAME,
]

interface Checked {
  local: Local
  tickers: string[]
  fields: string[]
  timeframe: Timeframe
}

/** What a check is about: bars of this database, since it derives everything anew. Throws InvalidParameter. */
async function checkedOf(context: Context, given: Given, name: string): Promise<Checked> {
  const words = given.rest(0)
  if (words.length === 0 && !isPooled(given)) {
    const allowed = `bands check ${name} TICKER..., or bands check ${name} --all`
    throw new InvalidParameter('TICKER is missing.', { param: 'ticker', allowed })
  }
  const fields = given.list('fields').map(field => fieldValue('field', field).name)
  const timeframe = timeframeValue('timeframe', given.text('timeframe') ?? 'daily')
  const local = await context.local()
  return {
    local,
    tickers: await allNamed(context, given, words, () => local.withBars()),
    fields: fields.length > 0 ? fields : FIELDS.map(field => field.name),
    timeframe,
  }
}

const lookahead: Command = {
  arguments: CHECKED,
  options: [
    ...CHECK_OPTIONS,
    ['--cuts <N>', 'days at which the data are cut off; 5 unless given'],
    ['--seed <N>', 'other days for another number; 1 unless given'],
  ],
  examples: ['bands check lookahead AAPL', 'bands check lookahead --all --fields rsi_zone --cuts 20'],
  notes: [
    'Bars and facts are cut off at random days and everything is derived anew: bands, events and what followed must be those that the whole shows of these days. Exits with 5 where one is not.',
  ],
  async run(context, given) {
    const cuts = integerValue('cuts', given.text('cuts') ?? '5', 1, 10_000)
    const seed = integerValue('seed', given.text('seed') ?? '1', 0, LARGEST_SEED)
    const { local, ...asked } = await checkedOf(context, given, 'lookahead')
    const found = await checkLookahead(local, { ...asked, cuts, seed }, { step: text => context.step(text) })
    await context.show(lookaheadAnswer(found))
    if (!found.passed) context.outcome = 5
  },
}

const recursion: Command = {
  arguments: CHECKED,
  options: [
    ...CHECK_OPTIONS,
    ['--drop <BARS>', `leave out so many of the first bars; ${DROPPED.join(',')} unless given`, 'repeatable'],
  ],
  examples: ['bands check recursion AAPL', 'bands check recursion --all --fields rsi_zone,macd_state --drop 50,200'],
  notes: [
    'How many bars a history needs before its bands can be trusted: recursive indicators forget their begin slowly. The bars of each ticker are made to begin later, and the bands compared with those of the whole.',
  ],
  async run(context, given) {
    const drops = given.list('drop').map(text => integerValue('drop', text, 1, 1_000_000))
    const { local, ...asked } = await checkedOf(context, given, 'recursion')
    const dropped = drops.length > 0 ? drops : DROPPED
    const found = await checkRecursion(local, { ...asked, dropped }, { step: text => context.step(text) })
    await context.show(recursionAnswer(found))
  },
}

/** Whether data that are cut off tell the same of the days before; for machines a row a field. */
function lookaheadAnswer(found: CheckLookahead): Answer {
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

function skippedNotes(skipped: readonly Skipped[]): string[] {
  const reasons = new Map<string, string[]>()
  for (const { ticker, reason } of skipped) reasons.set(reason, [...(reasons.get(reason) ?? []), ticker])
  return [...reasons].map(([reason, tickers]) => {
    const more = tickers.length > NAMED ? ` and ${tickers.length - NAMED} more` : ''
    return `Left out: ${tickers.slice(0, NAMED).join(', ')}${more} (${reason}).`
  })
}

/** How much bands depend on the first bars; for machines a row a field and number of bars left out. */
function recursionAnswer(found: CheckRecursion): Answer {
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
        notes: recursionVerdict(fields),
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
function recursionVerdict(fields: readonly FieldRecursion[]): string[] {
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

export const commands = {
  'check lookahead': lookahead,
  'check recursion': recursion,
}
