import type { Case, Cases } from '../../present/chart.js'
import { factList } from '../table.js'

/** The facts of one case of a chart, such as a trade, and the buttons that choose it. */
export class CaseBox {
  readonly box = element('div', 'case')
  readonly #cases: Cases
  readonly #choose: (one: Case | null) => void
  readonly #back: HTMLButtonElement
  readonly #next: HTMLButtonElement
  readonly #title = element('p', 'case-title')
  readonly #facts = element('div', 'case-facts')
  #at: number | null = null

  /** @param choose called with the case to show in the chart; null: none */
  constructor(cases: Cases, choose: (one: Case | null) => void) {
    this.#cases = cases
    this.#choose = choose
    this.#back = this.#button(`Previous ${cases.name}`, () => this.show(this.#at === null ? -1 : this.#at - 1))
    this.#next = this.#button(`Next ${cases.name}`, () => this.show(this.#at === null ? 0 : this.#at + 1))
    this.#title.setAttribute('aria-live', 'polite')
    this.#title.textContent = this.#hint()
    this.box.append(this.#back, this.#next, this.#title, this.#facts)
  }

  /** Shows a case by its index; from the first one back is the last. */
  show(index: number): void {
    const { name, of } = this.#cases
    this.#at = (index + of.length) % of.length
    const one = of[this.#at]!
    this.#title.textContent = `${name[0]!.toUpperCase()}${name.slice(1)} ${this.#at + 1} of ${of.length}: ${one.title}`
    this.#facts.innerHTML = factList(one.facts).text
    this.#choose(one)
  }

  hide(): void {
    if (this.#at === null) return
    this.#at = null
    this.#title.textContent = this.#hint()
    this.#facts.replaceChildren()
    this.#choose(null)
  }

  /** Shows the case with the nearest end, or else one that holds x. @param distance of a point, null: too far */
  showAt(x: number, distance: (point: readonly [number, number]) => number | null): void {
    let nearest = -1
    let least = Number.POSITIVE_INFINITY
    this.#cases.of.forEach(({ from, to }, i) => {
      for (const point of [from, to]) {
        const far = distance(point)
        if (far !== null && far < least) [nearest, least] = [i, far]
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
    const button = element('button', 'control')
    button.type = 'button'
    button.textContent = text
    button.addEventListener('click', act)
    return button
  }
}

/** A new element with a class. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  kind: string,
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name)
  made.className = kind
  return made
}
