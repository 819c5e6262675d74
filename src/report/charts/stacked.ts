import { PERFORMANCES } from '../../model/record.js'
import { share, words } from '../format.js'
import { type Html, html } from '../html.js'

export interface Stack {
  label: string
  note: string
  /** In the order of PERFORMANCES. */
  counts: readonly number[]
  /** What is compared with: paler. */
  pale: boolean
}

/** A narrower part has no room for its share. */
const LEAST_TOLD = 7

/** Shares of the seven aftermath bands, a bar a row, in percent of the width that the page has. Needs no script. */
export function stacked(id: string, title: string, stacks: readonly Stack[]): Html {
  return html`<ul class="forest short stacked" id="${id}" aria-label="${title}">
${stacks.map(row)}
</ul>
<ul class="legend">${PERFORMANCES.map((name, i) => html`<li><span class="swatch block out-${i}"></span>${words(name)}</li>`)}</ul>`
}

function row({ label, note, counts, pale }: Stack): Html {
  const all = counts.reduce((sum, n) => sum + n, 0)
  let x = 0
  const parts = counts.map((n, i) => {
    const wide = all === 0 ? 0 : (100 * n) / all
    const from = x
    x += wide
    return html`${
      wide > 0 &&
      html`<rect class="out-${i}" x="${cut(from)}%" y="3" width="${cut(wide)}%" height="18"${pale && html` opacity="0.5"`}><title>${words(PERFORMANCES[i]!)}: ${n} of ${all}</title></rect>${
        wide > LEAST_TOLD &&
        html`<text class="inside${!pale && (i === 0 || i === 6) && ' end'}" x="${cut(from + wide / 2)}%" y="16" text-anchor="middle">${share(n / all, 0)}</text>`
      }`
    }`
  })
  return html`<li><strong>${label}</strong><span class="note">${note}</span><svg class="strip" role="img" aria-label="${counts.map((n, i) => `${words(PERFORMANCES[i]!)} ${n}`).join(', ')}">${parts}</svg></li>`
}

function cut(value: number): number {
  return Math.round(value * 100) / 100
}
