import type { EventStudy } from '../../research/study/result.js'
import { figure } from '../charts/figure.js'
import { pathChart, pathCountChart } from '../charts/path.js'
import { html } from '../html.js'
import type { Section } from '../page.js'

/** The price around the event, on average. */
export function path(study: EventStudy): Section {
  return {
    id: 'path',
    title: 'The price around the event',
    short: 'Path',
    body: html`<p>Bar 0 is the event and its close is 0%. What lies left of it was known when the event happened, and made it happen; only what lies right of it followed.</p>
${figure(pathChart(study))}
${figure(pathCountChart(study), 'The fewer, the less the average right of it means.')}`,
  }
}
