// For: draw a description as one page of HTML.
// In: a described result with its charts.
// Out: one file that opens without a network.

import { createHash } from 'node:crypto'
import { builtText } from '../../core/built.js'
import { wrong } from '../../core/errors.js'
import { dataScript, Html, html } from '../../core/html.js'
import { numberText as count, keyInWords } from '../../core/numbers.js'
import type { PricedSource } from '../../core/source.js'
import {
  compact,
  type Description,
  type Fact,
  type Heading,
  type Medium,
  type Part,
  type Section,
} from '../present/description.js'
import { GLOSSARY } from '../present/glossary.js'
import { describeInputs, describeWithPrices, type PagedResult } from '../present/prices.js'
import { describeTallyPage } from '../present/tally.js'
import { nameOfNote } from '../present/words.js'
import { estimatesFigure, figure, monthsTable, stacksFigure } from './chart.js'
import { factList, table } from './table.js'

/** One self-contained HTML document with style, script and data. Its content policy blocks everything else. */
export function reportPage(description: Description, about: ReportAbout): string {
  const style = builtText('report.css')
  const script = pageScript('report.js')
  const { title, answer, kind, heading } = description
  const shownSections = description.sections.filter(({ on }) => isShownOnPage(on))
  const { document, omitted } = shortenDocument(description)
  const unfolded = shownSections.filter(({ folded }) => !folded)
  const folded = shownSections.filter(({ folded }) => folded)
  const content = html`${openingHtml(description)}${unfolded.map(sectionHtml)}<div id="details">${folded.map(fold => foldedHtml(fold.id, fold.title, contentHtml(fold)))}</div>`
  const links = unfolded.map(({ id, title, short = title }) => ({ id, name: short }))
  if (folded.length > 0) links.push({ id: 'details', name: 'Details' })
  links.push({ id: 'about', name: 'Origin' })
  const policy = `default-src 'none'; style-src '${policyHash(style)}'; script-src '${policyHash(script)}'; img-src data:; base-uri 'none'; form-action 'none'`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(style)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<header>
<h1>${title}</h1>
<p class="answer">${answer}</p>
<p class="kind"><strong>${kind}</strong> ${heading.join('  ').replaceAll('  ', ' · ')}</p>
</header>
<nav aria-label="Sections"><ul>${links.map(({ id, name }) => html`<li><a href="#${id}">${name}</a></li>`)}</ul></nav>
<main id="main">
${content}
${glossary(description, shownSections, content)}
${originSection(description.facts, about, omitted)}
</main>
<footer><p>Made by bands ${about.version}. The same command line makes the same page, byte for byte, while the data and the trial log are the same. What happened before need not happen again; nothing here is advice.</p></footer>
${dataScript('id="result"', document)}
<script>${new Html(script)}</script>
</body>
</html>
`.text
}

/** The folded section about the origin of the page. @param omitted entries that the page's document does not have */
function originSection(facts: readonly Fact[], about: ReportAbout, omitted: readonly string[]): Html {
  const numbers = omitted.length === 0 ? 'Every number of this page' : `This result without ${omitted.join(' and ')}`
  const list = factList([...facts, ...originFacts(about)], ['Command line', 'Hash of inputs'])
  return foldedHtml(
    'about',
    'How this page was made',
    html`${list}
<p>${numbers}, as the command line prints it with <code>--json</code>, lies in this file in the element <code>#result</code>.</p>
<p class="actions" hidden><button type="button" class="control" data-save>Save as JSON</button></p>`,
  )
}

/** A folded section that explains the short words of the page; empty if it has none. A keyboard cannot reach `abbr`. */
function glossary({ answer, lead }: Description, sections: readonly Section[], content: Html): Html {
  const parts = [...lead, ...sections.flatMap(({ parts }) => parts)]
  const terms = termsIn(parts, [html`<p>${answer}</p>`, content])
  return terms === null ? html`` : foldedHtml('words', 'What the short words mean', terms)
}

/** A section whose heading opens its content. */
function foldedHtml(id: string, title: string, content: Html): Html {
  return html`<section class="folded" id="${id}"><details><summary><h2>${title}</h2></summary>
${content}</details></section>
`
}

function isShownOnPage(on: Medium | undefined): boolean {
  return on !== 'terminal' && on !== 'short'
}

function sectionHtml({ id, ...content }: Section): Html {
  return html`<section id="${id}"><h2>${content.title}</h2>
${contentHtml(content)}
</section>
`
}

function contentHtml({ title, phrases = [], parts }: Pick<Section, 'title' | 'phrases' | 'parts'>): Html {
  return html`${phrases.length > 0 && html`<p class="phrases">${phrases.join(' · ')}</p>`}
${partsHtml(parts, title)}`
}

function partsHtml(parts: readonly Part[], title = ''): Html {
  return html`${parts.filter(({ on }) => isShownOnPage(on)).map(part => partHtml(part, title))}`
}

/** A part of a section as markup; empty for a part of terminals. @param sectionTitle a table does not repeat it */
function partHtml(part: Part, sectionTitle: string): Html {
  if ('notes' in part) return html`${part.notes.map(note => html`<p>${note}</p>`)}\n`
  if ('list' in part) return html`<ul class="list">${part.list.map(line => html`<li>${line}</li>`)}</ul>\n`
  if ('facts' in part) return factList(part.facts)
  if ('table' in part) return table(part.table, sectionTitle)
  if ('chart' in part) return figure(part.chart, part.note)
  if ('charts' in part) return html`<div class="pair">${part.charts.map(chart => figure(chart))}</div>`
  if ('estimates' in part)
    return captionedFigure(part.estimates.title, part.estimates.note, estimatesFigure(part.estimates))
  if ('forests' in part)
    return html`<div class="pair">${part.forests.map(forest => captionedFigure(forest.title, forest.note, estimatesFigure(forest)))}</div>`
  if ('stacks' in part)
    return captionedFigure(part.stacks.title, 'after the events, and paler after any bar', stacksFigure(part.stacks))
  if ('months' in part) return monthsTable(part.months)
  if ('fold' in part) {
    const { title, parts, isTooLongForPaper = false } = part.fold
    return html`<details class="fold${isTooLongForPaper && ' long'}"><summary>${title}</summary>${partsHtml(parts)}</details>`
  }
  if ('code' in part) return html`<pre tabindex="0"><code>${part.code}</code></pre>`
  return html``
}

function captionedFigure(title: string, note: string, drawing: Html): Html {
  return html`<figure class="chart"><figcaption><strong>${title}</strong> ${note}</figcaption>
${drawing}</figure>
`
}

/** The answer, the parts below it and the first two sections, as a part of another page. */
export function leadHtml({ answer, lead, warnings, sections }: Description): string {
  const firstSections = sections.filter(({ on }) => isShownOnPage(on)).slice(0, 2)
  return html`<p class="answer">${answer}</p>
${openingHtml({ lead, warnings, answer })}${firstSections.map(({ parts }) => partsHtml(parts))}`.text
}

/** The first screen: the parts below the answer, and a line with the names of the warnings. */
function openingHtml({ lead, warnings, answer }: Pick<Description, 'lead' | 'warnings' | 'answer'>): Html {
  return html`<div class="lead">${partsHtml(lead)}</div>
${warningLine(warnings.filter(warning => warning !== answer))}`
}

/** A line with the short names of the warnings, which opens to show their sentences; empty without a warning. */
function warningLine(warnings: readonly string[]): Html {
  if (warnings.length === 0) return html``
  const names = warnings.slice(0, MOST_NAMED_WARNINGS).map(nameOfNote)
  const more = warnings.length - names.length
  if (more > 0) names.push(`${more} more`)
  return html`<details class="warnings" id="warnings"><summary><strong>Notes</strong> ${names.join(' · ')}</summary>
<ul>${warnings.map(warning => html`<li>${warning}</li>`)}</ul></details>`
}

const MOST_NAMED_WARNINGS = 3

/** The terms of table headings and of the glossary in a text, with their meanings; null without any. */
function termsIn(parts: readonly Part[], markup: readonly Html[]): Html | null {
  const text = markup.map(({ text }) => text.replace(/<script[\s\S]*?<\/script>|<[^>]+>/g, ' ')).join(' ')
  const terms = new Map(headingsWithHint(parts).map(({ title, hint }) => [title, hint]))
  for (const [name, [pattern, meaning]] of Object.entries(GLOSSARY))
    if (!terms.has(name) && pattern.test(text)) terms.set(name, meaning)
  if (terms.size === 0) return null
  return html`<dl>${[...terms].map(([name, meaning]) => html`<div><dt>${name}</dt><dd>${meaning}</dd></div>`)}</dl>`
}

/** The headings with a hint of the tables that a page shows, folded ones included. */
function headingsWithHint(parts: readonly Part[]): Heading[] {
  return parts
    .filter(({ on }) => isShownOnPage(on))
    .flatMap(part => {
      if ('fold' in part) return headingsWithHint(part.fold.parts)
      return 'table' in part ? part.table.columns.filter(({ hint, on }) => hint !== undefined && isShownOnPage(on)) : []
    })
}

function originFacts({ command, as_of, inputs, adjustment, source, tier, version }: ReportAbout): Fact[] {
  return compact<Fact>([
    ['Command line', command],
    ['As of', as_of ?? 'nothing is loaded'],
    inputs !== null && ['Prices', adjustment ?? 'adjustment differs between the tickers, or is not known'],
    ['Source', source],
    ['Tier', tier ?? 'all that is loaded'],
    ['Program', `bands ${version}`],
    inputs !== null && ['Hash of inputs', inputs],
  ])
}

/** The length of a document as JSON, in characters. A longer one makes a page that is slow to send and to open. */
const MAX_DOCUMENT_LENGTH = 800_000

/** The document, its long lists cut to MAX_DOCUMENT_LENGTH, and `omitted`: which entries of them are missing. */
function shortenDocument({ document, longLists }: Description): { document: unknown; omitted: string[] } {
  const result: Record<string, unknown> = { ...(document as object) }
  const omitted: string[] = []
  for (const { key, keptEnd, fullListOption } of longLists) {
    const list = result[key] as unknown[]
    const excess = JSON.stringify(result).length - MAX_DOCUMENT_LENGTH
    if (excess <= 0) break
    const keptShare = Math.max(0, 1 - excess / JSON.stringify(list).length)
    const shortLength = Math.floor(list.length * keptShare)
    result[key] = keptEnd === 'first' ? list.slice(0, shortLength) : list.slice(list.length - shortLength)
    const omittedEnd = keptEnd === 'first' ? 'last' : 'first'
    const numbers = `${count(list.length - shortLength)} of ${count(list.length)}`
    omitted.push(`the ${omittedEnd} ${numbers} ${keyInWords(key)} (${fullListOption} has all)`)
  }
  return { document: result, omitted }
}

/** The hash of an inline style or script, as a content policy allows it. */
export function policyHash(text: string): string {
  return `sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}`
}

/** The text of a built script for a page, without the tag that would end its element, even within a string. */
export function pageScript(name: string): string {
  return builtText(name).replaceAll('</script', '<\\/script')
}

/** The page of a result. Throws InvalidParameter for an incomplete one. @param market called if prices are needed */
export async function reportOf(
  market: () => Promise<PricedSource>,
  result: PagedResult,
  about: Omit<ReportAbout, 'adjustment' | 'inputs'>,
): Promise<string> {
  try {
    if (result.schema === 'bands.tally/2')
      return reportPage(describeTallyPage(result), { ...about, adjustment: null, inputs: null })
    const prices = await market()
    const description = await describeWithPrices(prices, result)
    return reportPage(description, { ...about, ...(await describeInputs(prices, result)) })
  } catch (cause) {
    if (!(cause instanceof TypeError || cause instanceof RangeError)) throw cause
    // Missing parts of a result only show up in the drawing.
    const message = `found is no whole answer of study(), tally(), backtest(), grid(), compare() or sweep(): ${cause.message}.`
    throw wrong('found', message)
  }
}

/** Facts about the report itself, without a time: the same question gives the same page. */
export interface ReportAbout {
  command: string
  version: string
  /** The source of prices and bands, in words. */
  source: string
  as_of: string | null
  /** The tier that was emulated; null: all that is loaded. */
  tier: string | null
  /** In words: `adjusted for splits and dividends`; null if the tickers differ or it is unknown. */
  adjustment: string | null
  /** SHA-256 of prices and bands, as `hashOfInputs` gives it; null for a tally, which reads no prices. */
  inputs: string | null
}
