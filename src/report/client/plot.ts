import uPlot from 'uplot'
import { type Chart, valueText, widthOf } from '../charts/spec.js'
import { onColoursChange } from './colours.js'
import { steer } from './keys.js'
import { columnsOf, optionsOf } from './options.js'
import { Readout } from './readout.js'
import { toggles } from './toggles.js'

/** Charts that are zoomed together. */
const groups = new Map<string, Plot[]>()

/** One chart that can be zoomed and pointed at; it takes the place of the drawing in its figure. */
export class Plot {
  readonly #figure: HTMLElement
  readonly #chart: Chart
  readonly #u: uPlot
  readonly #reset = document.createElement('button')
  readonly #full: { from: number; to: number }
  #following = false

  constructor(figure: HTMLElement, chart: Chart) {
    const place = figure.querySelector<HTMLElement>('.plot')!
    this.#figure = figure
    this.#chart = chart
    this.#full = widthOf(chart)
    place.hidden = false
    figure.classList.add('live')
    const readout = new Readout(figure, chart)
    this.#reset.type = 'button'
    this.#reset.className = 'control'
    this.#reset.textContent = 'Reset zoom'
    this.#reset.hidden = true
    this.#reset.addEventListener('click', () => this.reset())
    const tools = document.createElement('div')
    tools.className = 'tools'
    tools.append(readout.line, this.#reset)
    place.before(tools)
    const hooks: uPlot.Hooks.Arrays = {
      setCursor: [u => readout.show(u)],
      setScale: [(u, key) => key === 'x' && this.#zoomed(u.scales.x!.min!, u.scales.x!.max!)],
    }
    this.#u = new uPlot(optionsOf(chart, this.#size(place), hooks), columnsOf(chart), place)
    place.setAttribute('role', 'img')
    place.setAttribute('aria-label', `${chart.title}. ${chart.description}`)
    place.tabIndex = 0
    steer(place, this.#u, readout.line, this)
    toggles(figure, chart, this.#u)
    new ResizeObserver(() => this.#u.setSize(this.#size(place))).observe(place)
    onColoursChange(() => this.#u.redraw(false, true))
    const { group } = chart
    if (group !== null) groups.set(group, [...(groups.get(group) ?? []), this])
  }

  zoom(from: number, to: number): void {
    this.#u.setScale('x', { min: from, max: to })
  }

  reset(): void {
    this.zoom(this.#full.from, this.#full.to)
  }

  /** Zooms with another of its group. */
  follow(from: number, to: number, whole: boolean): void {
    this.#following = true
    if (whole) this.reset()
    else this.zoom(from, to)
  }

  #size(place: HTMLElement): { width: number; height: number } {
    return { width: Math.max(place.clientWidth, 200), height: this.#chart.height }
  }

  #zoomed(from: number, to: number): void {
    const { unit } = this.#chart.x
    const slack = (this.#full.to - this.#full.from) * 1e-6
    const whole = from <= this.#full.from + slack && to >= this.#full.to - slack
    // A button that vanishes must not take the focus with it.
    if (whole && document.activeElement === this.#reset) this.#figure.querySelector<HTMLElement>('.plot')?.focus()
    this.#reset.hidden = whole
    this.#reset.textContent = `Reset zoom (${valueText(unit, from)} to ${valueText(unit, to)})`
    this.#figure.dataset.from = valueText(unit, from)
    this.#figure.dataset.to = valueText(unit, to)
    const followed = this.#following
    this.#following = false
    if (followed) return
    for (const other of groups.get(this.#chart.group ?? '') ?? []) if (other !== this) other.follow(from, to, whole)
  }
}
