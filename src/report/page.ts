import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { NotFound } from '../errors.js'
import { dataScript, Html, html, type Piece } from './html.js'

/** A part of the page with a heading of its own. */
export interface Section {
  id: string
  title: string
  /** The title in the row of links, where that is too long for it. */
  short?: string
  body: Html
}

interface Page {
  /** `Event study`, above the title. */
  kind: string
  title: string
  /** What stands under the title, before the sections. */
  opening: Piece
  sections: readonly (Section | null)[]
  /** The whole result. */
  result: unknown
  foot: Piece
}

/**
 * One HTML document that needs nothing else: style, script and data are in it, and its content policy lets it run and
 * load nothing but these.
 */
export function page({ kind, title, opening, sections, result, foot }: Page): string {
  const [style, script] = [pageStyle(), pageScript()]
  const shown = sections.filter(section => section !== null)
  const policy = `default-src 'none'; style-src '${digest(style)}'; script-src '${digest(script)}'; img-src data:; base-uri 'none'; form-action 'none'`
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
<p class="kind">${kind}</p>
<h1>${title}</h1>
</header>
<nav aria-label="Sections"><ul>${shown.map(section => html`<li><a href="#${section.id}">${section.short ?? section.title}</a></li>`)}</ul></nav>
<main id="main">
${opening}
${shown.map(sectionOf)}
<section id="json"><h2>The whole result</h2>
<p>Every number of this page, as the command line prints it with <code>--json</code>, lies in this file in the element <code>#result</code>.</p>
<p class="actions" hidden><button type="button" class="control" data-save>Save as JSON</button></p>
</section>
</main>
<footer>${foot}</footer>
${dataScript('id="result"', result)}
<script>${new Html(script)}</script>
</body>
</html>
`.text
}

function sectionOf({ id, title, body }: Section): Html {
  return html`<section id="${id}"><h2>${title}</h2>
${body}
</section>
`
}

/** As a content policy names an inline style or script that may run. */
function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text, 'utf8').digest('base64')}`
}

/** The script of every page: zoom, hover, sorting. */
function pageScript(): string {
  // A script element ends at this text wherever it stands, also within a string.
  return asset('report.js').replaceAll('</script', '<\\/script')
}

function pageStyle(): string {
  return asset('report.css')
}

/** The build makes both, beside the bundle; this code may run from a chunk of it or from the sources. */
function asset(name: string): string {
  const places = [`./${name}`, `../${name}`, `../../dist/${name}`].map(at =>
    fileURLToPath(new URL(at, import.meta.url)),
  )
  const found = places.find(existsSync)
  if (found === undefined) throw new NotFound(`${name} is missing beside the program; build or install bands again.`)
  return readFileSync(found, 'utf8').trim()
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
