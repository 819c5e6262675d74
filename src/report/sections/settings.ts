import { type Html, html } from '../html.js'
import type { Section } from '../page.js'
import { type Fact, factList } from './opening.js'

/** What was assumed, and how it was asked. */
export function settings(
  assumptions: readonly string[],
  facts: readonly Fact[],
  document: Record<string, unknown> | null,
): Section {
  return {
    id: 'settings',
    title: 'Settings and assumptions',
    short: 'Settings',
    body: html`${assumptions.length > 0 && html`<ul class="assumptions">${assumptions.map(line => html`<li>${line}</li>`)}</ul>`}
${facts.length > 0 && factList(facts)}
${document !== null && strategy(document)}`,
  }
}

function strategy(document: Record<string, unknown>): Html {
  return html`<h3>The strategy</h3>
<p>This is the strategy file of the run, complete; kept in a file, it makes the run again.</p>
<pre tabindex="0"><code>${JSON.stringify(document, null, 2)}</code></pre>`
}
