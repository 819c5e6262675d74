import { isCondition, lagInWords, TRUE, TRUTHS } from '../../core/language/as-field.js'
import { count, joinWithOr, numberText, probability, ratio } from '../../core/numbers.js'
import type { Omitted } from '../../core/source.js'
import { WHOLE_RANGE } from '../../core/tiers.js'
import type { SourceRange } from '../../data/local/status.js'
import type { Backtest, Grid } from '../../research/backtest/result.js'
import type { EventStudy, Sampling } from '../../research/study/result.js'
import type { Scope } from '../../research/tally/pool.js'
import { compact, type Fact, type Section } from './description.js'

/** Words that results have in common. */

/** `4 tickers`, or the names of up to three. */
export function tickersText(tickers: readonly string[]): string {
  return tickers.length <= 3 ? tickers.join(', ') : `${numberText(tickers.length)} tickers`
}

/** `left out: pe_band, ps_band; each … (bands status)`: a line for each reason why an answer leaves out fields. */
export function omittedNotes(omitted: readonly Omitted[] = []): string[] {
  const fieldsByReason = Map.groupBy(omitted, ({ why }) => why)
  return [...fieldsByReason].map(([why, items]) => {
    const fields = items.map(({ field }) => field).join(', ')
    return `left out: ${fields};${items.length === 1 ? '' : ' each'} ${why} (bands status)`
  })
}

/** Compares two texts for sort(), by their UTF-16 codes. ISO dates are sorted by time. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** `Sharpe ratio: .5.`: adds a full stop unless there is one. */
export function withFullStop(text: string): string {
  return text.endsWith('.') ? text : `${text}.`
}

/** `Tried: 3 strategies in this run, 40 in the trial log.` @param countText writes the second number */
export function triedText({ run, ledger }: Backtest['trials'], countText = numberText): string {
  const ledgerText = ledger === null ? '' : `, ${countText(ledger)} in the trial log`
  return `Tried: ${strategiesText(run)} in this run${ledgerText}.`
}

/** A sentence with the probability of overfitting. @param reason why it is not known, for a null `pbo` */
export function overfittingText(pbo: Grid['pbo'], reason: string): string {
  const value =
    pbo === null
      ? reason
      : `${probability(pbo.probability)}, how often the best of one half of the days is not above the median of the other (${count(pbo.splits, 'split')})`
  return withFullStop(`Probability of overfitting (CSCV): ${value}`)
}

/** `1 strategy`, `3 strategies` */
export function strategiesText(n: number): string {
  return count(n, 'strategy', 'strategies')
}

/** `blocks of 12.3 bars on average` */
export function blocksText(block: number | null): string {
  return `blocks of ${ratio(block, 1)} bars on average`
}

/** Two values of a record: the ticker if there is only one, otherwise null; and the number of tickers. */
export function tickerColumns(tickers: readonly string[]): { ticker: string | null; tickers: number } {
  return { ticker: tickers.length === 1 ? tickers[0]! : null, tickers: tickers.length }
}

/** The range of dates that a tier or a server allows, in words; of several tickers perhaps several ranges. */
export function rangeInWords(range: string | null): string {
  const ranges = range?.split(', ') ?? ['no range']
  return ranges.map(text => (text === WHOLE_RANGE ? 'all dates' : text)).join(' or ')
}

/** `after 2016-01-01 and before 2017-01-01`: both exclusive. Null without a bound, and if the tier limits the range. */
export function boundsText({ query_range, after, before }: Omit<Scope, 'as_of'>): string | null {
  const bounds = compact([after !== null && `after ${after}`, before !== null && `before ${before}`])
  return query_range !== WHOLE_RANGE || bounds.length === 0 ? null : bounds.join(' and ')
}

/** `as of 2018-05-11`; an empty list if the day is not known. */
export function asOfText({ as_of }: { as_of: string | null }): string[] {
  return as_of === null ? [] : [`as of ${as_of}`]
}

/** `a.csv`: the source file of bars; `a.csv to b.csv` if the first import of them (`begun`) was from another file. */
export function fileText({ source, begun }: Pick<SourceRange, 'source' | 'begun'>): string {
  return begun === undefined || begun.source === source ? source : `${begun.source} to ${source}`
}

/** `rsi_zone = oversold or deep_oversold`; a true condition as it is; only the field for null (any band). */
export function stateText(field: string, bands: readonly string[] | null): string {
  if (bands === null) return field
  const names = bands.join(' or ')
  if (!isCondition(field)) return `${field} = ${names}`
  return names === TRUTHS[TRUE] ? field : `${field}: ${names}`
}

/** The conditions of a question apart from the entered bands, under the keys of documents. */
type Conditions = Pick<EventStudy, 'prev_bands' | 'stability' | 'max_flips' | 'context' | 'when' | 'lag'>

/** The conditions of a question, each in words. The bands before the event are not among them: see fromBandsText. */
export function conditionTexts({ stability, max_flips, context, when, lag }: Omit<Conditions, 'prev_bands'>): string[] {
  return compact([
    context && contextText(context),
    when !== undefined && `when ${when}`,
    ...lagInWords(lag),
    stability && `stability ${stability.join(' or ')}`,
    max_flips !== null && `at most ${max_flips} ${max_flips === 1 ? 'flip' : 'flips'}`,
  ])
}

/** ` from neutral_low or neutral`: the bands before the event; empty if they may be any. */
export function fromBandsText({ prev_bands }: Pick<Conditions, 'prev_bands'>): string {
  return prev_bands === null ? '' : ` from ${prev_bands.join(' or ')}`
}

/** `while GSPC trend_direction = uptrend`; without a band if it may be any. */
function contextText({ ticker, field, bands, lag }: NonNullable<Conditions['context']>): string {
  const before = lag === 1 ? ' a bar before' : ''
  if (bands === null) return `beside ${ticker} ${field}${before}`
  return `while ${ticker} ${field} = ${bands.join(' or ')}${before}`
}

/** `2008-01-02 to 2018-05-11` and `as of 2018-05-11`, each only if it is known. */
export function rangeTexts({ first, last, as_of }: Pick<Backtest, 'first' | 'last' | 'as_of'>): string[] {
  return compact([first !== null && `${first} to ${last}`, ...asOfText({ as_of })])
}

/** The title of a page: `After rsi_zone turned oversold: 10 tickers, 2008-2018`. */
export function pageTitle(
  subject: string,
  { tickers, first, last }: Pick<Backtest, 'tickers' | 'first' | 'last'>,
): string {
  const years = compact([first, last]).map(date => date.slice(0, 4))
  const yearsText = [...new Set(years)].join('-')
  return `${subject}: ${compact([tickersText(tickers), yearsText]).join(', ')}`
}

/** `rsi_zone turned oversold`: the event for a title. A long condition is not repeated there; the line below has it. */
export function eventTitle(field: string, bands: readonly string[] | null): string {
  if (!isCondition(field)) return bands === null ? `${field} changed band` : `${field} turned ${joinWithOr(bands)}`
  return field.length > LONGEST_IN_TITLE ? 'the condition came true' : field
}

const LONGEST_IN_TITLE = 60

/** A note in short: its words before the first punctuation mark, without a capital. */
export function nameOfNote(note: string): string {
  // A comma within a number is no punctuation mark here.
  const [name = ''] = note.split(/[:;,.](?=\s|$)|\s\(/)
  return name.trim().replace(/^[A-Z](?=[a-z])/, letter => letter.toLowerCase())
}

export function originFacts(backtest: Pick<Backtest, 'first' | 'last' | 'timeframe' | 'seed'>): Fact[] {
  const { first, last, timeframe, seed } = backtest
  const bars = first === null || last === null ? `none, ${timeframe}` : `${timeframe}, ${first} to ${last}`
  return [
    ['Bars', bars],
    ['Seed', String(seed)],
  ]
}

/** The signs of the performance bands, from the worst to the best. */
export const SIGNS: readonly string[] = ['---', '--', '-', '=', '+', '++', '+++']

export function minEventsFact(sampling: Pick<Sampling, 'min_events'>): Fact {
  return ['Fewest events', `${sampling.min_events}: below that a combination is shown, not tested`]
}

/** A folded section about reading a page: notes for all kinds of results, and those for this kind. */
export function readingSection(kind: keyof typeof READING_NOTES): Section {
  const title = 'How to read this, and when not to'
  const facts = Object.entries({ ...COMMON_NOTES, ...READING_NOTES[kind] })
  return { id: 'reading', title, short: 'How to read this', on: 'page', folded: true, parts: [{ facts }] }
}

const COMMON_NOTES: Readonly<Record<string, string>> = {
  'n is what counts':
    'Under some twenty events the shares and means can be anything; under ten independent windows there is no p-value, and the row is grey.',
  Overlap:
    'Windows of neighbouring events share bars, and tickers move together: a hundred events may be worth ten. P and the block bootstrap allow for both; a plain t-test for neither. The independent cases say how much the events are worth.',
  Survivorship:
    'The tickers are those that are loaded. Companies that failed before are missing, and that flatters strategies that bought weakness.',
  'The past': 'All bands are as they were known on each day. Even so this is one history, and it happened once.',
}

const READING_NOTES = {
  study: {
    'The difference, not the mean':
      'Markets drift. Returns after the events are compared with returns after any bar of the same tickers and dates; only the difference counts.',
    p: 'Two-sided p of the difference, by the Newey-West t with effective clusters. It allows for overlap, for tickers that move together and for volatile times. It is not the probability that there is nothing to find.',
    'Several windows':
      'Of five windows one has a p below 0.05 by chance on one in four such pages. So the verdicts go by p corrected for all windows of the page (Holm), and by q over the trial log.',
    'When not to':
      'Not to choose the best window from this page and trade it; not from grey rows; not when a warning above says that the bands or the bars were lacking.',
  },
  tally: {
    'Top 40%':
      'Each return is ranked among the ticker’s own past returns: sharp is the worst or best 5%, flat the middle 20%. Slight, moderate and sharp gains together are the best 40%. Such a return can be below 0 where the past was bad.',
    'Compare with any bar':
      'A market that rises makes every signal look good. Read each share next to the same share after any bar.',
    'Counted, not tested':
      'The intervals allow for overlap and for tickers that move together, but a tally tests nothing: bands study does.',
    'When not to': 'Not to choose the best of many windows and groups: some look good by chance.',
  },
  backtest: {
    Fills:
      'A signal at a close is traded at the next open unless the settings say otherwise. Costs are what the settings say; the real ones grow with size.',
    'Compared with holding':
      'A strategy that is seldom in the market should be judged by time in market and drawdown, too, not only by its total return.',
    'The Sharpe ratio':
      'Is per year, from bar returns; of few trades it says little, and of the best of many tries less. The deflated one allows for the tries that the ledger knows.',
    'Random entry':
      'The signals of all trades are moved to other dates together, so they stay as close to one another. Then the same rules trade them. p is two-sided: how often the mean of such trades is as far out on either side.',
    'When not to':
      'Not when random entry did about as well; not by the second decimal; not when the part for checking looks unlike the part for choosing.',
  },
  sweep: {
    'q, not p':
      'Of a thousand empty combinations fifty have a p below 0.05. q is p corrected for how many were tried in the family named above; combinations marked ★ have a q below 0.05.',
    'The best of many':
      'White’s reality check and Hansen’s SPA ask whether the best combination beats the best that chance would reach. If they are large, chance explains the best.',
    'The histogram': 'Without any effect the bars would be level. Only an excess on the left is of interest.',
    't above 3': 'is what Harvey, Liu and Zhu (2016) ask of a finding after decades of looking; bold in the table.',
    'When not to': 'Not to take the top row and trade it: check it on dates that this page has not seen.',
  },
  grid: {
    'The hill, not the peak':
      'A real effect is good at similar settings, too. A single good setting among poor neighbours is typical of chance.',
    'The deflated Sharpe ratio':
      'Asks whether the best is above what the best of as many worthless strategies would show. Below .95 it is not to be believed.',
    Overfitting:
      'Near 50% which combination is best says nothing about which will be: by chance, or because all of them are alike. What of the market all of them share is not asked here.',
    'When not to': 'Not to take the best and trade it: choose on one part of the dates and look at another.',
  },
  comparison: {
    'The difference':
      'Two strategies on the same days share much of their good and bad days. The interval is of the difference of their ratios, with the days of both redrawn together; where it has 0 in it, neither is better.',
    'The common days': 'Each is traded over all its own days. Only the days that all have are compared.',
    'When not to': 'Not to take the best of many and trade it: of several alike one is first by chance.',
  },
}
