import type { Case, Cases } from '../../present/chart.js'
import { factList } from '../table.js'

/** The facts of one case of a chart, such as a trade, and the buttons that choose it. */
export class CaseBox {
  readonly box = newElement('div', 'case')
  readonly #cases: Cases
  readonly #choose: (chosen: Case | null) => void
  readonly #back: HTMLButtonElement
  readonly #next: HTMLButtonElement
  readonly #title = newElement('p', 'case-title')
  readonly #facts = newElement('div', 'case-facts')
  #shownIndex: number | null = null

  /** @param choose called with the case to show in the chart; null for none */
  constructor(cases: Cases, choose: (chosen: Case | null) => void) {
    this.#cases = cases
    this.#choose = choose
    // show() wraps around: index -1 is the last case.
    this.#back = this.#button(`Previous ${cases.name}`, () =>
      this.show(this.#shownIndex === null ? -1 : this.#shownIndex - 1),
    )
    this.#next = this.#button(`Next ${cases.name}`, () =>
      this.show(this.#shownIndex === null ? 0 : this.#shownIndex + 1),
    )
    this.#title.setAttribute('aria-live', 'polite')
    this.#title.textContent = this.#hint()
    this.box.append(this.#back, this.#next, this.#title, this.#facts)
  }

  /** Shows a case by its index. Index -1 is the last case, and the number of cases is the first one. */
  show(index: number): void {
    const { name, of: cases } = this.#cases
    this.#shownIndex = (index + cases.length) % cases.length
    const shown = cases[this.#shownIndex]!
    const capitalised = `${name[0]!.toUpperCase()}${name.slice(1)}`
    this.#title.textContent = `${capitalised} ${this.#shownIndex + 1} of ${cases.length}: ${shown.title}`
    this.#facts.innerHTML = factList(shown.facts).text
    this.#choose(shown)
  }

  hide(): void {
    if (this.#shownIndex === null) return
    this.#shownIndex = null
    this.#title.textContent = this.#hint()
    this.#facts.replaceChildren()
    this.#choose(null)
  }

  /**
   * Shows the case whose beginning or end is nearest; without one in reach, the last case around x; otherwise none.
   * @param distanceOf the distance of the pointer from a point of the chart; null beyond reach
   */
  showAt(x: number, distanceOf: (point: readonly [number, number]) => number | null): void {
    let nearest = -1
    let leastDistance = Number.POSITIVE_INFINITY
    this.#cases.of.forEach(({ from, to }, i) => {
      for (const point of [from, to]) {
        const distance = distanceOf(point)
        if (distance !== null && distance < leastDistance) [nearest, leastDistance] = [i, distance]
      }
    })
    if (nearest < 0) nearest = this.#cases.of.findLastIndex(({ from, to }) => from[0] <= x && to[0] >= x)
    if (nearest < 0) this.hide()
    else this.show(nearest)
  }

  #hint(): string {
    return `Click a ${this.#cases.name} in the chart, or choose it here, to see its facts.`
  }

  #button(text: string, act: () => void): HTMLButtonElement {
    const button = newElement('button', 'control')
    button.type = 'button'
    button.textContent = text
    button.addEventListener('click', act)
    return button
  }
}

export function newElement<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  className: string,
): HTMLElementTagNameMap[Name] {
  const node = document.createElement(name)
  node.className = className
  return node
}
