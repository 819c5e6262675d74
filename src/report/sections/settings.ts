import { type Html, html } from '../html.js'
import type { Section } from '../page.js'
import { type Fact, factList } from './opening.js'

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
