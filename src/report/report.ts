import { createHash } from 'node:crypto'
import { builtText } from '../built.js'
import { dataScript, Html, html } from '../html.js'
import type { Description, Fact, Part, Section, Tile, Tone, Where } from '../present/description.js'
import { figure } from './chart.js'
import { forest, monthsTable, stacked } from './strips.js'
import { CLASSES, table } from './table.js'

/**
 * One HTML document that needs nothing else: style, script and data are in it, and its content policy lets it run and
 * load nothing but these.
 */
export function report(found: Description, about: ReportAbout): string {
  const [style, script] = [builtText('report.css'), pageScript()]
  const shown = found.sections.filter(({ on }) => isShown(on))
  const policy = `default-src 'none'; style-src '${digest(style)}'; script-src '${digest(script)}'; img-src data:; base-uri 'none'; form-action 'none'`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${found.question}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header>
<p class="kind">${found.kind}</p>
<h1>${found.question}</h1>
</header>
<nav aria-label="Sections"><ul>${shown.map(section => html`<li><a href="#${section.id}">${section.short ?? section.title}</a></li>`)}</ul></nav>
<main id="main">
${opening(found, about)}
${shown.map(sectionOf)}
<section id="json"><h2>The whole result</h2>
<p>Every number of this page, as the command line prints it with <code>--json</code>, lies in this file in the element <code>#result</code>.</p>
<p class="actions" hidden><button type="button" class="control" data-save>Save as JSON</button></p>
</section>
</main>
<footer>${foot(about)}</footer>
${dataScript('id="result"', found.document)}
<script>${new Html(script)}</script>
</body>
</html>
`.text
}

function isShown(on: Where | undefined): boolean {
  return on !== 'terminal' && on !== 'short'
}

function sectionOf({ id, title, phrases = [], parts }: Section): Html {
  return html`<section id="${id}"><h2>${title}</h2>
${phrases.length > 0 && html`<p class="phrases">${phrases.join(' · ')}</p>`}
${parts.filter(({ on }) => isShown(on)).map(partOf)}
</section>
`
}

function partOf(part: Part): Html {
  if ('notes' in part) return html`${part.notes.map(note => html`<p>${note}</p>`)}\n`
  if ('list' in part) return html`<ul class="list">${part.list.map(line => html`<li>${line}</li>`)}</ul>\n`
  if ('facts' in part) return factList(part.facts)
  if ('table' in part) return table(part.table)
  if ('chart' in part) return figure(part.chart, part.note)
  if ('charts' in part) return html`<div class="pair">${part.charts.map(chart => figure(chart))}</div>`
  if ('estimates' in part) return captioned(part.estimates.title, part.estimates.note, forest(part.estimates))
  if ('stacks' in part)
    return captioned(part.stacks.title, 'after the events, and paler after any bar', stacked(part.stacks))
  if ('months' in part) return monthsTable(part.months)
  if ('code' in part) return html`<pre tabindex="0"><code>${part.code}</code></pre>`
  return html``
}

function captioned(title: string, note: string, drawing: Html): Html {
  return html`<figure class="chart"><figcaption><strong>${title}</strong> ${note}</figcaption>
${drawing}</figure>
`
}

/** What is said before everything else: what to be wary of, the main numbers, and where all of it is from. */
function opening({ warnings, tiles, facts }: Description, about: ReportAbout): Html {
  return html`${warningBox(warnings)}
<div class="tiles${tiles.length % 3 === 0 && ' three'}">${tiles.map(tileOf)}</div>
<section id="about"><h2>What was asked, and of what</h2>
${factList([...facts, ...originFacts(about)], ['Command line', 'Hash of inputs'])}
</section>`
}

function warningBox(warnings: readonly string[]): Html {
  if (warnings.length === 0) return html``
  return html`<aside class="warnings" aria-label="Warnings"><p><strong>${warnings.length === 1 ? 'A warning' : `${warnings.length} warnings`}</strong></p>
<ul>${warnings.map(warning => html`<li>${warning}</li>`)}</ul></aside>`
}

function tileOf({ label, value, note, tone }: Tile): Html {
  const kind: Tone | undefined = tone
  return html`<div class="tile"><p class="label">${label}</p><p class="value${kind !== undefined && ` ${CLASSES[kind]}`}">${value}</p><p class="note">${note}</p></div>`
}

/** From so many letters on a fact has a line of its own. */
const LONG_FACT = 90

function factList(facts: readonly Fact[], verbatim: readonly string[] = []): Html {
  return html`<dl class="facts">${facts.map(([term, text]) => {
    const isVerbatim = verbatim.includes(term)
    const isLong = isVerbatim || text.length > LONG_FACT
    return html`<div${isLong && html` class="wide"`}><dt>${term}</dt><dd>${isVerbatim ? html`<code>${text}</code>` : text}</dd></div>`
  })}</dl>
`
}

/** What every report says of where it comes from. */
function originFacts(about: ReportAbout): Fact[] {
  return [
    ['Command line', about.command],
    ['As of', about.as_of ?? 'nothing is loaded'],
    ['Prices', about.adjustment ?? 'adjustment differs between the tickers, or is not known'],
    ['Source', about.source],
    ['Tier', about.tier ?? 'all that is loaded'],
    ['Program', `bands ${about.version}`],
    ['Hash of inputs', about.inputs ?? 'not made'],
  ]
}

function foot(about: ReportAbout): Html {
  return html`<p>Made by bands ${about.version}. The same command line makes the same page, byte for byte, while the data and the ledger of trials are the same. What happened before need not happen again; nothing here is advice.</p>`
}

/** As a content policy names an inline style or script that may run. */
function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}`
}

/** The script of every page: zoom, hover, sorting. */
function pageScript(): string {
  // A script element ends at this text wherever it stands, also within a string.
  return builtText('report.js').replaceAll('</script', '<\\/script')
}

/** What a report says of itself; not part of the result. No time is in it: the same question has the same page. */
export interface ReportAbout {
  /** The command line that made it. */
  command: string
  /** Of the program. */
  version: string
  /** Where prices and bands are from, in words. */
  source: string
  as_of: string | null
  /** The tier that was emulated; null: all that is loaded. */
  tier: string | null
  /** In words: `adjusted for splits and dividends`; null where the tickers differ or nobody knows. */
  adjustment: string | null
  /** SHA-256 of prices and bands, as `hashOfInputs` gives it; null where it was not made. */
  inputs: string | null
}
