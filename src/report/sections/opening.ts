import type { ReportAbout } from '../about.js'
import { type Html, html, type Piece } from '../html.js'

/** One number that is worth a large type. */
export interface Tile {
  label: string
  value: string
  note: Piece
  tone?: 'gain' | 'loss' | 'quiet' | undefined
}

/** A term and what is told of it; `wide` ones have a line of their own. */
export type Fact = readonly [term: string, told: Piece, wide?: 'wide']

/** What is said before everything else: what to be wary of, the main numbers, and where all of it is from. */
export function opening(warnings: readonly string[], tiles: readonly Tile[], facts: readonly Fact[]): Html {
  return html`${warningBox(warnings)}
<div class="tiles${tiles.length % 3 === 0 && ' three'}">${tiles.map(tileOf)}</div>
<section id="about"><h2>What was asked, and of what</h2>
${factList(facts)}
</section>`
}

export function factList(facts: readonly Fact[]): Html {
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
