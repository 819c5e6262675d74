import type uPlot from 'uplot'
import { type Chart, type Stripes, valueText } from '../charts/spec.js'

const HINT = 'Drag to zoom; keys ← → + − Esc'
/** A mark this near to the pointer is meant, CSS pixels. */
const NEAR = 7

/** Tells what is under the pointer: values beside the names in the legend, the rest in a line of its own. */
export class Readout {
  readonly line = document.createElement('p')
  readonly #chart: Chart
  readonly #hint: string
  readonly #values: { kind: string; place: number; told: HTMLElement }[]

  constructor(figure: HTMLElement, chart: Chart) {
    this.#chart = chart
    // Said once in a page.
    this.#hint = document.querySelector('.readout') === null ? HINT : ''
    this.line.className = 'readout'
    this.line.textContent = this.#hint
    this.#values = [...figure.querySelectorAll<HTMLElement>('.legend [data-part]')].map(item => {
      const [kind = '', place = '0'] = (item.dataset.part ?? '').split(' ')
      const told = document.createElement('span')
      told.className = 'told'
      item.append(told)
      return { kind, place: Number(place), told }
    })
  }

  show(u: uPlot): void {
    const { idx, left } = u.cursor
    const known = idx !== null && idx !== undefined && left !== undefined && left >= 0
    for (const { kind, place, told } of this.#values) told.textContent = known ? this.#value(kind, place, idx) : ''
    this.line.classList.toggle('on', known)
    this.line.textContent = known ? this.#at(u, idx, left) : this.#hint
  }

  #value(kind: string, place: number, at: number): string {
    const { lines, ribbons, bars, y } = this.#chart
    if (kind === 'line') return valueText(y.unit, lines[place]?.values[at])
    if (kind === 'bars') return valueText(y.unit, bars[place]?.values[at])
    if (kind !== 'ribbon') return ''
    const { low, high } = ribbons[place] ?? { low: [], high: [] }
    return `${valueText(y.unit, low[at])} to ${valueText(y.unit, high[at])}`
  }

  #at(u: uPlot, at: number, left: number): string {
    const { x, stripes, marks, bars } = this.#chart
    const edges = bars[0]?.edges
    const place =
      edges === undefined
        ? valueText(x.unit, x.values[at])
        : `${valueText(x.unit, edges[at])} to ${valueText(x.unit, edges[at + 1])}`
    const near = marks.flatMap(({ at: days, notes }) =>
      notes.filter((_, i) => Math.abs(u.valToPos(days[i]!, 'x') - left) <= NEAR),
    )
    const band = stripes === null ? null : bandAt(stripes, x.values[at]!)
    return [place, band, ...near.slice(0, 3)].filter(Boolean).join('  ·  ')
  }
}

function bandAt({ starts, codes, bands }: Stripes, x: number): string | null {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (starts[middle]! <= x) low = middle + 1
    else high = middle
  }
  return low === 0 ? null : (bands[codes[low - 1]!] ?? null)
}
