import type { Case, Chart, Stripes } from '../../present/chart.js'
import { drawChart, scalesOf } from '../chart.js'
import { type Extent, type Scale, valueText, visiblePart, xExtent } from '../scale.js'
import { CaseBox, element } from './case-box.js'

/** Charts that are zoomed and pointed at together. */
const groups = new Map<string, Plot[]>()

const HINT = 'Drag to zoom; keys ← → + − Esc'
/** A mark this near to the pointer is meant, CSS pixels. */
const NEAR = 7
/** An end of a case this near to a click is meant, CSS pixels. */
const NEAR_CLICK = 24
/** A shorter drag counts as a click, in CSS pixels. */
const LEAST_DRAG = 5
/** A narrower drawing has no room for its axes, CSS pixels. */
const NARROWEST = 200

/** The drawing in a figure, made to be zoomed and pointed at. */
export class Plot {
  readonly #figure: HTMLElement
  readonly #place: HTMLElement
  readonly #chart: Chart
  readonly #full: Extent
  #shown: Extent
  #x!: Scale
  #y!: Scale
  #width = 0
  readonly #hidden = new Set<string>()
  /** The index of the pointed value; null: none. */
  #at: number | null = null
  readonly #pointer = element('div', 'pointer')
  readonly #selection = element('div', 'selection')
  readonly #readout = element('p', 'readout')
  readonly #reset = element('button', 'control')
  readonly #hint: string
  readonly #cases: CaseBox | null
  #chosen: Case | null = null
  readonly #values: { kind: string; place: number; told: HTMLElement }[]

  constructor(figure: HTMLElement, chart: Chart) {
    this.#figure = figure
    this.#chart = chart
    this.#full = xExtent(chart)
    this.#shown = this.#full
    this.#place = figure.querySelector<HTMLElement>('.plot')!
    // Said once in a page.
    this.#hint = document.querySelector('.readout') === null ? HINT : ''
    this.#values = this.#legend()
    this.#cases = chart.cases && new CaseBox(chart.cases, one => this.#choose(one))
    this.#addTools()
    this.#listen()
    if (chart.group !== null) groups.set(chart.group, [...(groups.get(chart.group) ?? []), this])
    new ResizeObserver(() => this.#place.clientWidth !== this.#width && this.#draw()).observe(this.#place)
    // Paper has the page's drawing without scripts, whose letters fit its width.
    addEventListener('beforeprint', () => this.#draw(this.#chart.width))
    addEventListener('afterprint', () => this.#draw())
    this.#show(this.#full)
  }

  #addTools(): void {
    this.#figure.classList.add('live')
    this.#readout.textContent = this.#hint
    this.#reset.type = 'button'
    this.#reset.textContent = 'Reset zoom'
    this.#reset.hidden = true
    const tools = element('div', 'tools')
    tools.append(this.#readout, this.#reset)
    this.#place.before(tools)
    if (this.#cases !== null) this.#place.after(this.#cases.box)
    this.#place.append(this.#pointer, this.#selection)
    this.#pointer.hidden = true
    this.#selection.hidden = true
    this.#place.tabIndex = 0
    this.#place.setAttribute('role', 'group')
    this.#place.setAttribute('aria-label', this.#chart.title)
  }

  #draw(width = this.#place.clientWidth): void {
    this.#width = width
    const part = visiblePart(this.#chart, this.#shown, this.#hidden)
    const chart = { ...part, shades: [...part.shades, ...this.#chosenShade()], width: Math.max(width, NARROWEST) }
    const { x, y } = scalesOf(chart, this.#shown)
    this.#x = x
    this.#y = y
    this.#place.querySelector('svg')!.outerHTML = drawChart(chart, this.#shown).text
    this.#point(this.#at)
  }

  #chosenShade(): Chart['shades'] {
    if (this.#chosen === null) return []
    const { from, to } = this.#chosen
    return [{ label: '', tone: 'second', spans: [{ from: from[0], to: to[0], note: '' }] }]
  }

  /** A case that is out of sight comes into it. */
  #choose(one: Case | null): void {
    this.#chosen = one
    if (one !== null && (one.from[0] < this.#shown.from || one.to[0] > this.#shown.to))
      this.#zoom(this.#full.from, this.#full.to)
    else this.#draw()
  }

  #zoom(from: number, to: number): void {
    const all = groups.get(this.#chart.group ?? '') ?? [this]
    const { from: first, to: last } = this.#full
    const isWhole = from <= first && to >= last
    for (const plot of all) plot.#show(isWhole ? plot.#full : { from, to })
  }

  #show(extent: Extent): void {
    const { unit } = this.#chart.x
    const isWhole = extent === this.#full
    this.#shown = extent
    const from = valueText(unit, extent.from)
    const to = valueText(unit, extent.to)
    // A button that vanishes must not take the focus with it.
    if (isWhole && document.activeElement === this.#reset) this.#place.focus()
    this.#reset.hidden = isWhole
    this.#reset.textContent = `Reset zoom (${from} to ${to})`
    Object.assign(this.#figure.dataset, { from, to })
    this.#draw()
  }

  /** Points at the value nearest to one of the axis, here and in the charts of the group. */
  #pointAll(x: number | null): void {
    for (const plot of groups.get(this.#chart.group ?? '') ?? [this]) plot.#point(x === null ? null : plot.#nearest(x))
  }

  /** Shows the pointed values next to the names in the legend, and the rest in a line of its own. */
  #point(at: number | null): void {
    this.#at = at
    this.#pointer.hidden = at === null
    if (at !== null) this.#pointer.style.left = `${this.#x.place(this.#chart.x.values[at]!)}px`
    for (const { kind, place, told } of this.#values) told.textContent = at === null ? '' : this.#value(kind, place, at)
    this.#readout.classList.toggle('on', at !== null)
    this.#readout.textContent = at === null ? this.#hint : this.#readoutText(at)
  }

  #value(kind: string, place: number, at: number): string {
    const { lines, ribbons, bars, y } = this.#chart
    if (kind === 'line') return valueText(y.unit, lines[place]?.values[at])
    if (kind === 'bars') return valueText(y.unit, bars[place]?.values[at])
    if (kind !== 'ribbon') return ''
    const { low, high } = ribbons[place] ?? { low: [], high: [] }
    return `${valueText(y.unit, low[at])} to ${valueText(y.unit, high[at])}`
  }

  #readoutText(at: number): string {
    const { x, stripes, marks, bars, shades } = this.#chart
    // A bin of several bars is a value of x, such as a year; of a histogram it is a range.
    const edges = bars[0]?.slot === undefined ? bars[0]?.edges : undefined
    const text = (value: number | undefined): string => valueText(x.unit, value)
    const here = edges === undefined ? text(x.values[at]) : `${text(edges[at])} to ${text(edges[at + 1])}`
    const left = this.#x.place(x.values[at]!)
    const near = marks.flatMap(({ at: days, notes }) =>
      notes.filter((_, i) => Math.abs(this.#x.place(days[i]!) - left) <= NEAR),
    )
    const band = stripes === null ? null : bandAt(stripes, x.values[at]!)
    const inside = shades
      .flatMap(({ spans }) => spans)
      .find(({ from, to }) => x.values[at]! >= from && x.values[at]! <= to)
    return [here, band, inside?.note, ...near.slice(0, 3)].filter(Boolean).join('  ·  ')
  }

  #nearest(x: number): number {
    const { values } = this.#chart.x
    const [first, last] = this.#ends()
    let nearest = first
    for (let i = first; i <= last; i++) if (Math.abs(values[i]! - x) < Math.abs(values[nearest]! - x)) nearest = i
    return nearest
  }

  /** The first and the last value in sight. */
  #ends(): [number, number] {
    const { values } = this.#chart.x
    const first = values.findIndex(value => value >= this.#shown.from)
    const last = values.findLastIndex(value => value <= this.#shown.to)
    return [Math.max(0, first), Math.max(0, last)]
  }

  #listen(): void {
    const place = this.#place
    let start: number | null = null
    let pressed = 0
    /** The x value under the pointer. */
    const valueAt = (event: MouseEvent): number => {
      const { from, to } = this.#shown
      const left = this.#x.place(from)
      const right = this.#x.place(to)
      const inside = Math.min(Math.max(event.clientX - place.getBoundingClientRect().left, left), right)
      return from + ((inside - left) / (right - left)) * (to - from)
    }
    const select = (from: number, to: number): void => {
      const left = this.#x.place(Math.min(from, to))
      const right = this.#x.place(Math.max(from, to))
      this.#selection.hidden = right - left < LEAST_DRAG
      Object.assign(this.#selection.style, { left: `${left}px`, width: `${right - left}px` })
    }
    place.addEventListener('mousedown', event => {
      pressed = event.clientX
      if (event.button === 0) start = valueAt(event)
    })
    place.addEventListener('mousemove', event => {
      // Values under the pointer are not read out; values reached by key are.
      this.#readout.removeAttribute('aria-live')
      this.#pointAll(valueAt(event))
    })
    place.addEventListener('mouseleave', () => this.#pointAll(null))
    document.addEventListener('mousemove', event => {
      if (start === null) return
      event.preventDefault()
      select(start, valueAt(event))
    })
    document.addEventListener('mouseup', event => {
      const from = start
      start = null
      if (from === null || this.#selection.hidden) return
      this.#selection.hidden = true
      this.#zoom(Math.min(from, valueAt(event)), Math.max(from, valueAt(event)))
    })
    place.addEventListener('click', event => {
      if (Math.abs(event.clientX - pressed) >= LEAST_DRAG) return
      const { left, top } = place.getBoundingClientRect()
      this.#cases?.showAt(valueAt(event), ([x, y]) => {
        const far = Math.hypot(left + this.#x.place(x) - event.clientX, top + this.#y.place(y) - event.clientY)
        return far > NEAR_CLICK ? null : far
      })
    })
    place.addEventListener('dblclick', () => this.#zoom(this.#full.from, this.#full.to))
    place.addEventListener('keydown', event => this.#steer(event))
    this.#reset.addEventListener('click', () => this.#zoom(this.#full.from, this.#full.to))
  }

  /** The case at the value that the keys point at. */
  #chooseAtPointer(): void {
    if (this.#at === null) return
    const here = this.#chart.x.values[this.#at]!
    this.#cases?.showAt(here, ([x]) => {
      const far = Math.abs(this.#x.place(x) - this.#x.place(here))
      return far > NEAR ? null : far
    })
  }

  /** Keys replace the pointer: arrows move along the values, + and - zoom, Enter chooses, Escape shows all again. */
  #steer(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const far = event.shiftKey ? 10 : 1
    const acts: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => this.#step(-far),
      ArrowRight: () => this.#step(far),
      Home: () => this.#step(Number.NEGATIVE_INFINITY),
      End: () => this.#step(Number.POSITIVE_INFINITY),
      '+': () => this.#magnify(0.5),
      '=': () => this.#magnify(0.5),
      '-': () => this.#magnify(2),
      Escape: () => this.#zoom(this.#full.from, this.#full.to),
      ...(this.#cases !== null && { Enter: () => this.#chooseAtPointer() }),
    }
    const act = acts[event.key]
    if (act === undefined) return
    this.#readout.setAttribute('aria-live', 'polite')
    act()
    event.preventDefault()
  }

  #step(by: number): void {
    const [first, last] = this.#ends()
    const now = this.#at ?? (by > 0 ? first - 1 : last + 1)
    this.#pointAll(this.#chart.x.values[Math.min(last, Math.max(first, now + by))]!)
  }

  #magnify(times: number): void {
    const { from, to } = this.#shown
    const middle = this.#at === null ? (from + to) / 2 : this.#chart.x.values[this.#at]!
    this.#zoom(
      Math.max(this.#full.from, middle - (middle - from) * times),
      Math.min(this.#full.to, middle + (to - middle) * times),
    )
  }

  /** Adds a value next to each name of the legend. Several names become buttons that hide their part. */
  #legend(): { kind: string; place: number; told: HTMLElement }[] {
    const items = [...this.#figure.querySelectorAll<HTMLElement>('.legend [data-part]')]
    const canHide = items.filter(({ dataset }) => !dataset.part?.startsWith('marks')).length > 1
    return items.map(item => {
      const name = item.dataset.part!
      const [kind = '', place = '0'] = name.split(' ')
      const valueElement = element('span', 'told')
      item.append(valueElement)
      if (canHide && kind !== 'marks') this.#makeToggle(item, name)
      return { kind, place: Number(place), told: valueElement }
    })
  }

  #makeToggle(item: HTMLElement, name: string): void {
    const button = element('button', 'toggle')
    button.type = 'button'
    button.setAttribute('aria-pressed', 'true')
    button.append(...item.childNodes)
    item.append(button)
    button.addEventListener('click', () => {
      const isShown = this.#hidden.delete(name)
      if (!isShown) this.#hidden.add(name)
      button.setAttribute('aria-pressed', String(isShown))
      this.#draw()
    })
  }
}

function bandAt({ starts, codes, bands }: Stripes, x: number): string | null {
  const run = starts.findLastIndex(start => start <= x)
  return run < 0 ? null : (bands[codes[run]!] ?? null)
}
