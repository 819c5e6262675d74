import { count, firstNames, numberText } from '../../core/numbers.js'
import type { FetchedTicker, FetchPlan } from '../providers/fetch.js'
import { type Provider, WANTS } from '../providers/provider.js'
import { type Column, column, compact, type Described, describeList, tablePart } from './description.js'

/** A summary, a row for each ticker, and notes. With many, only tickers that were not simply loaded or current. */
export function describeFetched(fetched: readonly FetchedTicker[]): Described {
  const isListed = fetched.length <= MOST_LISTED
  const shown = isListed ? fetched : fetched.filter(({ outcome }) => !QUIET_OUTCOMES.has(outcome))
  const notes = shown.flatMap(({ ticker, note }) => (note === null ? [] : [`${ticker}: ${note}`]))
  const parts = compact([
    { notes: [summaryText(fetched)] },
    shown.length > 0 && tablePart('Tickers', fetchedColumns(fetched), shown.slice(0, MOST_LISTED)),
  ])
  return {
    document: { schema: 'bands.fetch/1', tickers: fetched },
    columns: ['ticker', 'provider', 'outcome', 'added', 'bars', 'first', 'last', 'events_changed', 'note'],
    rows: fetched,
    paragraphs: [{ heading: [], parts }],
    warnings: compact([
      ...notes.slice(0, MOST_LISTED),
      shown.length > MOST_LISTED && `and ${numberText(shown.length - MOST_LISTED)} more (--json has all)`,
    ]),
  }
}

/** Up to this number of tickers, each has a row. */
const MOST_LISTED = 30

const QUIET_OUTCOMES: ReadonlySet<FetchedTicker['outcome']> = new Set(['loaded', 'current'])

/** The columns of fetched tickers; the number of changed events only if a history was loaded again. */
function fetchedColumns(fetched: readonly FetchedTicker[]): readonly Column<FetchedTicker>[] {
  const isReloaded = fetched.some(({ events_changed }) => events_changed !== null)
  return [
    column('ticker'),
    column('outcome'),
    column('added', 'count'),
    { title: 'Bars', kind: 'count', value: ({ bars }) => bars },
    column('first', 'date', { hidePriority: 2 }),
    column('last', 'date', { hidePriority: 1 }),
    ...(isReloaded ? [column('events_changed', 'count')] : []),
    { title: 'From', kind: 'text', hidePriority: 3, value: ({ provider }) => provider },
  ]
}

/** `3 of 4 tickers are up to date: 5,400 bars added from tiingo; 1 had nothing new.` */
function summaryText(fetched: readonly FetchedTicker[]): string {
  // Bars and facts of a ticker may come from two vendors, so that a ticker is in the list twice.
  const countTickers = (list: readonly FetchedTicker[]): number => new Set(list.map(({ ticker }) => ticker)).size
  const countWith = (...outcomes: FetchedTicker['outcome'][]): number =>
    countTickers(fetched.filter(({ outcome }) => outcomes.includes(outcome)))
  const upToDate = countWith('loaded', 'reloaded', 'current')
  const total = countTickers(fetched)
  const subject =
    upToDate === total ? count(upToDate, 'ticker') : `${numberText(upToDate)} of ${count(total, 'ticker')}`
  const added = fetched.reduce((sum, ticker) => sum + ticker.added, 0)
  const addedNoun = fetched.some(({ bars, added }) => bars === null && added > 0) ? 'record' : 'bar'
  const reloaded = countWith('reloaded')
  const current = countWith('current')
  return `${compact([
    `${subject} ${upToDate === 1 ? 'is' : 'are'} up to date: ${count(added, addedNoun)} added from ${providerNames(fetched)}`,
    reloaded > 0 && `${numberText(reloaded)} loaded again after a split or dividend`,
    current > 0 && `${numberText(current)} had nothing new`,
  ]).join('; ')}.`
}

function providerNames(fetched: readonly FetchedTicker[]): string {
  return [...new Set(fetched.map(({ provider }) => provider))].join(', ')
}

/** The reasons why tickers could not be loaded, for the error at the end; empty if all were. */
export function failureText(fetched: readonly FetchedTicker[]): string {
  const unknown = fetched.filter(({ outcome }) => outcome === 'unknown')
  const refused = fetched.filter(({ outcome }) => outcome === 'refused')
  return compact([
    unknown.length > 0 && `${providerNames(unknown)} has nothing of ${tickerNames(unknown)}`,
    refused.length === 1 && `${refused[0]!.ticker} is not loaded: ${refused[0]!.note}`,
    refused.length > 1 && `not loaded, for the reasons above: ${tickerNames(refused)}`,
  ]).join('; ')
}

const MOST_NAMED = 8

function tickerNames(fetched: readonly FetchedTicker[]): string {
  const names = fetched.map(({ ticker }) => ticker)
  return firstNames(names, MOST_NAMED)
}

/** `505 tickers of alpaca: 2016-01-01 to 2026-11-26, about 140 calls, under a minute at its pace.` */
export function planText({ provider, tickers, done, calls, seconds, from, to }: FetchPlan): string {
  const pending = tickers - done
  if (pending === 0) return `${count(tickers, 'ticker')} of ${provider}: nothing new can have come since the last time.`
  const doneText = done === 0 ? '' : `, ${numberText(done)} more with nothing new`
  return `${count(pending, 'ticker')} of ${provider}${doneText}: ${from} to ${to}, about ${count(calls, 'call')}, ${durationText(seconds)} at its pace.`
}

/** `under a minute`, `about 10 hours` */
export function durationText(seconds: number): string {
  if (seconds < 60) return 'under a minute'
  if (seconds < 5_400) return `about ${count(Math.round(seconds / 60), 'minute')}`
  return `about ${count(Math.round(seconds / 3_600), 'hour')}`
}

export function describePlans(plans: readonly FetchPlan[]): Described {
  return {
    document: { schema: 'bands.fetch-plan/1', plans },
    columns: ['provider', 'tickers', 'done', 'calls', 'seconds', 'from', 'to'],
    rows: plans,
    paragraphs: [{ heading: [], parts: [{ notes: plans.map(planText) }] }],
  }
}

/** A vendor, and whether there is a key for it. */
export type KnownProvider = Provider & { has_key: boolean; is_own: boolean }

/** The properties of a vendor in an answer, without those that say how it is called. */
function providerFacts(provider: KnownProvider) {
  const { name, about, terms, terms_url, needs, key_url = null, base, pace, first, holds, prices } = provider
  const [calls, seconds] = pace
  const { has_key, is_own } = provider
  return { name, about, terms, terms_url, needs, key_url, base, calls, seconds, first, holds, prices, has_key, is_own }
}

export function describeProviders(providers: readonly KnownProvider[]): Described {
  return describeList(
    { schema: 'bands.providers/1', providers: providers.map(providerFacts) },
    providers.map(providerRow),
    [
      { key: 'name', title: 'Name', kind: 'text', value: ({ name }) => name },
      { key: 'key', title: 'Key', kind: 'text', value: ({ key }) => key },
      { key: 'pace', title: 'Calls', kind: 'text', value: ({ pace }) => pace },
      { key: 'about', title: 'Data', kind: 'text', wraps: true, value: ({ about }) => about },
    ],
    { notes: ['one of them, with its terms: bands providers tiingo'] },
  )
}

/** A vendor as a row of the list: whether its key is there, and how many calls it allows. */
function providerRow({ name, about, needs, has_key, pace: [calls, seconds] }: KnownProvider) {
  const keyState = has_key ? 'there' : 'missing'
  const key = needs === 'nothing' ? 'not needed' : keyState
  return { name, key, pace: `${numberText(calls)} ${periodText(seconds)}`, about }
}

function periodText(seconds: number): string {
  const names: Readonly<Record<number, string>> = { 1: 'a second', 60: 'a minute', 3600: 'an hour', 86400: 'a day' }
  return names[seconds] ?? `in ${numberText(seconds)} s`
}

/** Everything about one vendor, and how to begin. */
export function describeProvider(provider: KnownProvider): Described {
  const facts = providerFacts(provider)
  const { name, about, terms, terms_url, needs, key_url, base, calls, seconds, first, holds, prices } = facts
  const { has_key, is_own } = facts
  const needsKey = needs !== 'nothing'
  const keyName = WANTS[needs]
  const keyText = has_key && needsKey ? `there (${keyName} is needed)` : keyName
  const data = holds === 'facts' ? 'facts' : `${prices} prices`
  // The vendors of bars without a key are crypto exchanges.
  const exampleTicker = holds === 'bars' && !needsKey ? 'BTC-USD' : 'AAPL'
  const notes = compact([
    about,
    `terms: ${terms}${terms_url === '' ? '' : ` ${terms_url}`}`,
    `key: ${keyText}${key_url === null ? '' : `; get one at ${key_url}`}`,
    `${data} since ${first} from ${base}, at most ${count(calls, 'call')} ${periodText(seconds)}`,
    is_own && 'a row of your own (providers.yaml)',
    needsKey && !has_key && `first: bands login --from ${name}`,
    `then: bands fetch ${exampleTicker} --from ${name}`,
  ])
  return {
    document: { schema: 'bands.provider/1', ...facts },
    columns: Object.keys(facts),
    rows: [facts],
    paragraphs: [{ heading: [name], parts: [{ notes }] }],
  }
}
