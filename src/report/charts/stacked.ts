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

const ROW = 24
const DRAWN = { width: 960, left: 190 }

/** Shares of the seven aftermath bands, a bar a row. Needs no script. */
export function stacked(id: string, title: string, stacks: readonly Stack[]): Html {
  const { width } = DRAWN
  return html`<svg class="drawing still" viewBox="0 0 ${width} ${stacks.length * ROW}" role="img" aria-labelledby="${id}-d">
<title id="${id}-d">${title}</title>
${stacks.map((stack, i) => row(stack, i * ROW))}
</svg>
<ul class="legend">${PERFORMANCES.map((name, i) => html`<li><span class="swatch block out-${i}"></span>${words(name)}</li>`)}</ul>`
}

function row({ label, note, counts, pale }: Stack, top: number): Html {
  const { width, left } = DRAWN
  const all = counts.reduce((sum, n) => sum + n, 0)
  let x = left
  const parts = counts.map((n, i) => {
    const wide = all === 0 ? 0 : ((width - left) * n) / all
    const from = x
    x += wide
    return html`${
      wide > 0 &&
      html`<rect class="out-${i}" x="${cut(from)}" y="${top + 3}" width="${cut(wide)}" height="${ROW - 6}"${pale && html` opacity="0.5"`}><title>${words(PERFORMANCES[i]!)}: ${n} of ${all}</title></rect>${
        wide > 34 &&
        html`<text class="inside${!pale && (i === 0 || i === 6) && ' end'}" x="${cut(from + wide / 2)}" y="${top + 16}" text-anchor="middle">${share(n / all, 0)}</text>`
      }`
    }`
  })
  return html`<g><text class="name" x="0" y="${top + 16}">${label}</text><text class="note" x="${left - 12}" y="${top + 16}" text-anchor="end">${note}</text>${parts}</g>`
}

function cut(value: number): number {
  return Math.round(value * 10) / 10
}
