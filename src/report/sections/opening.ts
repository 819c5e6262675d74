import { type Html, html, type Piece } from '../html.js'
import type { ReportAbout, Section } from '../page.js'

/** One number that is worth a large type. */
export interface Tile {
  label: string
  value: string
  note: Piece
  tone?: 'gain' | 'loss' | 'quiet' | undefined
}

/** A term and what is told of it; `wide` ones have a line of their own. */
type Fact = readonly [term: string, told: Piece, wide?: 'wide']

/** What is said before everything else: what to be wary of, the main numbers, and where all of it is from. */
export function opening(warnings: readonly string[], tiles: readonly Tile[], facts: readonly Fact[]): Html {
  return html`${warningBox(warnings)}
<div class="tiles${tiles.length % 3 === 0 && ' three'}">${tiles.map(tileOf)}</div>
<section id="about"><h2>What was asked, and of what</h2>
${factList(facts)}
</section>`
}

function factList(facts: readonly Fact[]): Html {
  return html`<dl class="facts">${facts.map(
    ([term, told, wide]) => html`<div${wide && html` class="wide"`}><dt>${term}</dt><dd>${told}</dd></div>`,
  )}</dl>`
}

/** What every report says of where it comes from. */
export function originFacts(
  about: ReportAbout,
  { first, last, timeframe, seed }: { first: string | null; last: string | null; timeframe: string; seed: number },
): Fact[] {
  return [
    ['Command line', html`<code>${about.command}</code>`, 'wide'],
    ['Bars', first === null || last === null ? `none, ${timeframe}` : `${timeframe}, ${first} to ${last}`],
    ['As of', about.as_of ?? 'nothing is loaded'],
    ['Prices', about.adjustment ?? 'adjustment differs between the tickers, or is not known'],
    ['Source', about.source],
    ['Tier', about.tier ?? 'all that is loaded'],
    ['Seed', seed],
    ['Program', `bands ${about.version}`],
    ['Hash of inputs', about.inputs === null ? 'not made' : html`<code>${about.inputs}</code>`, 'wide'],
  ]
}

export function foot(about: ReportAbout): Html {
  return html`<p>Made by bands ${about.version}. The same command line makes the same page, byte for byte, while the data and the ledger of trials are the same. What happened before need not happen again; nothing here is advice.</p>`
}

function warningBox(warnings: readonly string[]): Html {
  if (warnings.length === 0) return html``
  return html`<aside class="warnings" aria-label="Warnings"><p><strong>${warnings.length === 1 ? 'A warning' : `${warnings.length} warnings`}</strong></p>
<ul>${warnings.map(warning => html`<li>${warning}</li>`)}</ul></aside>`
}

function tileOf({ label, value, note, tone }: Tile): Html {
  return html`<div class="tile"><p class="label">${label}</p><p class="value${tone !== undefined && ` ${tone}`}">${value}</p><p class="note">${note}</p></div>`
}

/** What was assumed, and how it was asked. */
export function settings(
  assumptions: readonly string[],
  facts: readonly Fact[],
  document: Record<string, unknown> | null,
  beside: string | null = null,
): Section {
  return {
    id: 'settings',
    title: 'Settings and assumptions',
    short: 'Settings',
    body: html`${assumptions.length > 0 && html`<ul class="assumptions">${assumptions.map(line => html`<li>${line}</li>`)}</ul>`}
${facts.length > 0 && factList(facts)}
${document !== null && strategy(document, beside)}`,
  }
}

/** @param beside what of the run is not in the document */
function strategy(document: Record<string, unknown>, beside: string | null): Html {
  return html`<h3>The strategy</h3>
<p>${
    beside === null
      ? 'This is the strategy file of the run, complete; kept in a file, it makes the run again.'
      : `This is the strategy file of the run. Not in it are ${beside}: they are given on the command line.`
  }</p>
<pre tabindex="0"><code>${JSON.stringify(document, null, 2)}</code></pre>`
}

/** How to read the page, and when not to. */
export function reading(kind: 'study' | 'backtest' | 'sweep'): Section {
  const points: [string, Piece][] = [...COMMON, ...OF[kind]]
  return {
    id: 'reading',
    title: 'How to read this, and when not to',
    short: 'How to read this',
    body: html`<dl class="reading">${points.map(([term, told]) => html`<div><dt>${term}</dt><dd>${told}</dd></div>`)}</dl>`,
  }
}

const COMMON: [string, Piece][] = [
  [
    'n is what counts',
    'Under some twenty events the shares and means can be anything; under ten independent windows there is no p-value, and the row is grey.',
  ],
  [
    'Overlap',
    'Windows of neighbouring events share bars, and tickers move together: a hundred events may be worth ten. The shifts and the block bootstrap allow for both; a plain t-test for neither. Independent windows are counted ticker by ticker and added up, so that of many tickers on one day each counts: look at the stretches of dates, too.',
  ],
  [
    'Survivorship',
    'The tickers are those that are loaded. Whatever went under before anyone loaded it is missing, and that flatters whatever bought weakness.',
  ],
  ['The past', 'All bands are as they were known on each day. Even so this is one history, and it happened once.'],
]

const OF: Record<'study' | 'backtest' | 'sweep', [string, Piece][]> = {
  study: [
    [
      'The difference, not the mean',
      'Markets drift. What followed the events is compared with what followed any bar of the same tickers and dates; only the difference is theirs.',
    ],
    [
      'p',
      'How often the same events, moved along the calendar together, would have been followed by as large a difference. It is not the probability that there is nothing to it. An event that lands where its ticker has no bar drops out of that move.',
    ],
    [
      'p(t)',
      'The same of the difference divided by its own error. Where events fall in volatile times, other days vary less than theirs and p is too small; p(t) compares each with its own spread.',
    ],
    [
      'Several looks',
      'Five windows are five looks: one in four such pages shows some p below 0.05 by luck. A sweep corrects for how many were tried; this page does not.',
    ],
    [
      'When not to',
      'Not to choose the best window from this page and trade it; not from grey rows; not when a warning above says that the bands or the bars were lacking.',
    ],
  ],
  backtest: [
    [
      'Fills',
      'A signal at a close is traded at the next open unless the settings say otherwise. Costs are what the settings say; the real ones grow with size.',
    ],
    [
      'Compared with holding',
      'A strategy that is seldom in the market should be judged by exposure and drawdown as well, not by its total return alone.',
    ],
    [
      'The Sharpe ratio',
      'Is per year, from bar returns; of few trades it says little, and of the best of many tries less. The deflated one allows for the tries that the ledger knows.',
    ],
    [
      'Random entry',
      'The signals of all trades are moved to other dates together, so that they come as close to one another, and in as many tickers at once, as they did; then the same rules trade them. p is how often that had as high a mean.',
    ],
    [
      'When not to',
      'Not when random entry did about as well; not by the second decimal; not when the part for checking looks unlike the part for choosing.',
    ],
  ],
  sweep: [
    [
      'q, not p',
      'Of a thousand empty cells fifty have a p below 0.05. q is p corrected for how many were tried in the family named above; cells marked ★ have a q below 0.05.',
    ],
    [
      'The best of many',
      'White’s reality check and Hansen’s SPA ask whether the best cell beats what the best of so many would reach by luck. If they are large, so is the luck.',
    ],
    [
      'The histogram',
      'Were there nothing to find, the bars would be level. Only what stands out on the left is of interest.',
    ],
    ['t above 3', 'is what Harvey, Liu and Zhu (2016) ask of a finding after decades of looking; bold in the table.'],
    ['When not to', 'Not to take the top row and trade it: check it on dates that this page has not seen.'],
  ],
}

/** Why numbers are missing, one line a reason. */
export function reasons(told: readonly { where: string; reasons: Record<string, string> }[]): Html {
  const places = new Map<string, { what: string; reason: string; of: string[] }>()
  for (const { where, reasons } of told) {
    for (const [key, reason] of Object.entries(reasons)) {
      const what = key.replace(/[_.]/g, ' ')
      const known = places.get(`${what}: ${reason}`)
      if (known === undefined) places.set(`${what}: ${reason}`, { what, reason, of: [where] })
      else known.of.push(where)
    }
  }
  if (places.size === 0) return html``
  return html`<div class="why"><p>Why some numbers are missing:</p>
<ul>${[...places.values()].map(({ what, reason, of }) => {
    const names = of.filter(Boolean).join(', ')
    return html`<li>${what}${names !== '' && ` (${names})`}: ${reason}</li>`
  })}</ul></div>`
}
