import type { Case, Chart, Stripes } from '../../present/chart.js'
import { drawChart, scalesOf } from '../chart.js'
import { type Extent, type Scale, valueText, visiblePart, xExtent } from '../scale.js'
import { CaseBox, newElement } from './case-box.js'

/** Charts that are zoomed and pointed at together, by the name of their group. */
const groups = new Map<string, Plot[]>()

const HINT = 'Drag to zoom; keys ← → + − Esc'
/** The readout has the notes of marks up to this distance from the pointer. */
const MARK_REACH_PX = 7
/** A click chooses a case whose begin or end is within this distance. */
const CASE_REACH_PX = 24
/** A shorter drag counts as a click. */
const MIN_DRAG_PX = 5
/** A narrower drawing has no room for its axes. */
const MIN_WIDTH_PX = 200

/** The element next to a name of the legend, and which part of the chart it belongs to: its kind and its index. */
interface LegendValue {
  kind: string
  part: number
  element: HTMLElement
}

/** Lets readers zoom the drawing of a figure, and point at its values. */
export class Plot {
  readonly #figure: HTMLElement
  readonly #drawing: HTMLElement
  readonly #chart: Chart
  readonly #fullRange: Extent
  #shownRange: Extent
  #x!: Scale
  #y!: Scale
  #width = 0
  readonly #hiddenParts = new Set<string>()
  /** The index of the pointed x value; null for none. */
  #pointedIndex: number | null = null
  readonly #pointer = newElement('div', 'pointer')
  readonly #selection = newElement('div', 'selection')
  readonly #readout = newElement('p', 'readout')
  readonly #reset = newElement('button', 'control')
  readonly #hint: string
  readonly #cases: CaseBox | null
  #chosenCase: Case | null = null
  readonly #legendValues: LegendValue[]

  constructor(figure: HTMLElement, chart: Chart) {
    this.#figure = figure
    this.#chart = chart
    this.#fullRange = xExtent(chart)
    this.#shownRange = this.#fullRange
    this.#drawing = figure.querySelector<HTMLElement>('.plot')!
    // Only the first chart of a page shows the hint.
    this.#hint = document.querySelector('.readout') === null ? HINT : ''
    this.#legendValues = this.#addLegendValues()
    this.#cases = chart.cases && new CaseBox(chart.cases, chosen => this.#choose(chosen))
    this.#addTools()
    this.#listen()
    if (chart.group !== null) groups.set(chart.group, [...(groups.get(chart.group) ?? []), this])
    new ResizeObserver(() => this.#drawing.clientWidth !== this.#width && this.#draw()).observe(this.#drawing)
    // Paper has the page's drawing without scripts, whose letters fit its width.
    addEventListener('beforeprint', () => this.#draw(this.#chart.width))
    addEventListener('afterprint', () => this.#draw())
    this.#showRange(this.#fullRange)
  }

  /** Adds the readout, the reset button and the facts of cases around the drawing; also marks of pointer and drag. */
  #addTools(): void {
    this.#figure.classList.add('live')
    this.#readout.textContent = this.#hint
    this.#reset.type = 'button'
    this.#reset.textContent = 'Reset zoom'
    this.#reset.hidden = true
    const tools = newElement('div', 'tools')
    tools.append(this.#readout, this.#reset)
    this.#drawing.before(tools)
    if (this.#cases !== null) this.#drawing.after(this.#cases.box)
    this.#drawing.append(this.#pointer, this.#selection)
    this.#pointer.hidden = true
    this.#selection.hidden = true
    this.#drawing.tabIndex = 0
    this.#drawing.setAttribute('role', 'group')
    this.#drawing.setAttribute('aria-label', this.#chart.title)
  }

  /** Draws the shown range without the hidden parts. @param width in CSS pixels */
  #draw(width = this.#drawing.clientWidth): void {
    this.#width = width
    const visible = visiblePart(this.#chart, this.#shownRange, this.#hiddenParts)
    const shades = [...visible.shades, ...this.#chosenShade()]
    const chart = { ...visible, shades, width: Math.max(width, MIN_WIDTH_PX) }
    const { x, y } = scalesOf(chart, this.#shownRange)
    this.#x = x
    this.#y = y
    this.#drawing.querySelector('svg')!.outerHTML = drawChart(chart, this.#shownRange).text
    this.#point(this.#pointedIndex)
  }

  /** The shade over the chosen case; none without one. */
  #chosenShade(): Chart['shades'] {
    if (this.#chosenCase === null) return []
    const { from, to } = this.#chosenCase
    return [{ label: '', tone: 'second', spans: [{ from: from[0], to: to[0], note: '' }] }]
  }

  /** Shades a chosen case; null removes the shade. Zooms out if the case is not wholly in sight. */
  #choose(chosen: Case | null): void {
    this.#chosenCase = chosen
    if (chosen !== null && (chosen.from[0] < this.#shownRange.from || chosen.to[0] > this.#shownRange.to))
      this.#zoomGroup(this.#fullRange.from, this.#fullRange.to)
    else this.#draw()
  }

  /** Shows a range of x, here and in the charts of the group. */
  #zoomGroup(from: number, to: number): void {
    const isFullRange = from <= this.#fullRange.from && to >= this.#fullRange.to
    for (const plot of this.#group()) plot.#showRange(isFullRange ? plot.#fullRange : { from, to })
  }

  /** Shows a range of x, and names it on the button that resets the zoom. */
  #showRange(extent: Extent): void {
    const { unit } = this.#chart.x
    const isFullRange = extent === this.#fullRange
    this.#shownRange = extent
    const from = valueText(unit, extent.from)
    const to = valueText(unit, extent.to)
    // A button that vanishes must not take the focus with it.
    if (isFullRange && document.activeElement === this.#reset) this.#drawing.focus()
    this.#reset.hidden = isFullRange
    this.#reset.textContent = `Reset zoom (${from} to ${to})`
    Object.assign(this.#figure.dataset, { from, to })
    this.#draw()
  }

  /** The charts that are zoomed and pointed at together with this one, and this one. */
  #group(): readonly Plot[] {
    return groups.get(this.#chart.group ?? '') ?? [this]
  }

  /** Points at the value nearest to an x, here and in the charts of the group; null points at none. */
  #pointGroup(x: number | null): void {
    for (const plot of this.#group()) plot.#point(x === null ? null : plot.#nearestIndex(x))
  }

  /**
   * Shows the values at an index of x next to the names in the legend, and x with its notes in the readout. Null
   * removes them, and shows the hint.
   */
  #point(index: number | null): void {
    this.#pointedIndex = index
    this.#pointer.hidden = index === null
    if (index !== null) this.#pointer.style.left = `${this.#x.place(this.#chart.x.values[index]!)}px`
    for (const { kind, part, element } of this.#legendValues)
      element.textContent = index === null ? '' : this.#legendText(kind, part, index)
    this.#readout.classList.toggle('on', index !== null)
    this.#readout.textContent = index === null ? this.#hint : this.#readoutText(index)
  }

  /** The value that the legend shows for a part at an index of x; empty for marks and shades. */
  #legendText(kind: string, part: number, index: number): string {
    const { lines, ribbons, bars, y } = this.#chart
    if (kind === 'line') return valueText(y.unit, lines[part]?.values[index])
    if (kind === 'bars') return valueText(y.unit, bars[part]?.values[index])
    if (kind !== 'ribbon') return ''
    const { low, high } = ribbons[part] ?? { low: [], high: [] }
    return `${valueText(y.unit, low[index])} to ${valueText(y.unit, high[index])}`
  }

  /** x, its band, the note of the shade around it, and up to three notes of marks nearby. */
  #readoutText(index: number): string {
    const { x, stripes, marks, bars, shades } = this.#chart
    const value = x.values[index]!
    // Bars side by side in a bin are of one x, such as a year; the bar of a histogram is of a range.
    const edges = bars[0]?.slot === undefined ? bars[0]?.edges : undefined
    const textOf = (at: number | undefined): string => valueText(x.unit, at)
    const xText = edges === undefined ? textOf(value) : `${textOf(edges[index])} to ${textOf(edges[index + 1])}`
    const left = this.#x.place(value)
    const notesNearby = marks.flatMap(({ at: xs, notes }) =>
      notes.filter((_, i) => Math.abs(this.#x.place(xs[i]!) - left) <= MARK_REACH_PX),
    )
    const band = stripes === null ? null : bandAt(stripes, value)
    const shade = shades.flatMap(({ spans }) => spans).find(({ from, to }) => value >= from && value <= to)
    return [xText, band, shade?.note, ...notesNearby.slice(0, 3)].filter(Boolean).join('  ·  ')
  }

  /** The index of the value in sight that is nearest to x. */
  #nearestIndex(x: number): number {
    const { values } = this.#chart.x
    const [first, last] = this.#indexesInSight()
    let nearest = first
    for (let i = first; i <= last; i++) if (Math.abs(values[i]! - x) < Math.abs(values[nearest]! - x)) nearest = i
    return nearest
  }

  #indexesInSight(): [first: number, last: number] {
    const { values } = this.#chart.x
    const first = values.findIndex(value => value >= this.#shownRange.from)
    const last = values.findLastIndex(value => value <= this.#shownRange.to)
    return [Math.max(0, first), Math.max(0, last)]
  }

  /** Listens to the pointer and keys: moving reads values, dragging zooms, a click chooses a case. */
  #listen(): void {
    const drawing = this.#drawing
    let pressedPx = 0
    this.#zoomByDrag()
    drawing.addEventListener('mousedown', event => {
      pressedPx = event.clientX
    })
    drawing.addEventListener('mousemove', event => {
      // Values under the pointer are not read out; values reached by key are.
      this.#readout.removeAttribute('aria-live')
      this.#pointGroup(this.#valueUnder(event))
    })
    drawing.addEventListener('mouseleave', () => this.#pointGroup(null))
    drawing.addEventListener('click', event => {
      if (Math.abs(event.clientX - pressedPx) >= MIN_DRAG_PX) return
      const { left, top } = drawing.getBoundingClientRect()
      this.#cases?.showAt(this.#valueUnder(event), ([x, y]) => {
        const distance = Math.hypot(left + this.#x.place(x) - event.clientX, top + this.#y.place(y) - event.clientY)
        return distance > CASE_REACH_PX ? null : distance
      })
    })
    drawing.addEventListener('dblclick', () => this.#zoomGroup(this.#fullRange.from, this.#fullRange.to))
    drawing.addEventListener('keydown', event => this.#obeyKey(event))
    this.#reset.addEventListener('click', () => this.#zoomGroup(this.#fullRange.from, this.#fullRange.to))
  }

  /** Marks the range of x over which the pointer is dragged, and zooms to it at the end. */
  #zoomByDrag(): void {
    /** The x value at which the drag began; null without a drag. */
    let dragStart: number | null = null
    this.#drawing.addEventListener('mousedown', event => {
      if (event.button === 0) dragStart = this.#valueUnder(event)
    })
    document.addEventListener('mousemove', event => {
      if (dragStart === null) return
      event.preventDefault()
      const dragEnd = this.#valueUnder(event)
      const left = this.#x.place(Math.min(dragStart, dragEnd))
      const right = this.#x.place(Math.max(dragStart, dragEnd))
      this.#selection.hidden = right - left < MIN_DRAG_PX
      Object.assign(this.#selection.style, { left: `${left}px`, width: `${right - left}px` })
    })
    document.addEventListener('mouseup', event => {
      const begin = dragStart
      dragStart = null
      if (begin === null || this.#selection.hidden) return
      this.#selection.hidden = true
      const end = this.#valueUnder(event)
      this.#zoomGroup(Math.min(begin, end), Math.max(begin, end))
    })
  }

  /** The x value under the pointer, or at the nearest end of the axis. */
  #valueUnder(event: MouseEvent): number {
    const { from, to } = this.#shownRange
    const left = this.#x.place(from)
    const right = this.#x.place(to)
    const inside = Math.min(Math.max(event.clientX - this.#drawing.getBoundingClientRect().left, left), right)
    return from + ((inside - left) / (right - left)) * (to - from)
  }

  /** Shows the case (such as a trade) nearest to the pointed value, or around it; does nothing without such a value. */
  #chooseAtPointer(): void {
    if (this.#pointedIndex === null) return
    const pointedX = this.#chart.x.values[this.#pointedIndex]!
    this.#cases?.showAt(pointedX, ([x]) => {
      const distance = Math.abs(this.#x.place(x) - this.#x.place(pointedX))
      return distance > MARK_REACH_PX ? null : distance
    })
  }

  /** Does what a key means: arrows point at values, + and - zoom, Enter chooses a case, Escape shows the full range. */
  #obeyKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const stepSize = event.shiftKey ? 10 : 1
    const actions: Record<string, () => void> = {
      ArrowLeft: () => this.#step(-stepSize),
      ArrowRight: () => this.#step(stepSize),
      Home: () => this.#step(Number.NEGATIVE_INFINITY),
      End: () => this.#step(Number.POSITIVE_INFINITY),
      '+': () => this.#scaleRange(0.5),
      '=': () => this.#scaleRange(0.5),
      '-': () => this.#scaleRange(2),
      Escape: () => this.#zoomGroup(this.#fullRange.from, this.#fullRange.to),
    }
    if (this.#cases !== null) actions.Enter = () => this.#chooseAtPointer()
    const action = actions[event.key]
    if (action === undefined) return
    this.#readout.setAttribute('aria-live', 'polite')
    action()
    event.preventDefault()
  }

  /** Points at the value some steps to the right (left if negative), within those in sight. */
  #step(steps: number): void {
    const [first, last] = this.#indexesInSight()
    const from = this.#pointedIndex ?? (steps > 0 ? first - 1 : last + 1)
    this.#pointGroup(this.#chart.x.values[Math.min(last, Math.max(first, from + steps))]!)
  }

  /** Multiplies the width of the shown range, around the pointed value or else the middle. */
  #scaleRange(factor: number): void {
    const { from, to } = this.#shownRange
    const middle = this.#pointedIndex === null ? (from + to) / 2 : this.#chart.x.values[this.#pointedIndex]!
    this.#zoomGroup(
      Math.max(this.#fullRange.from, middle - (middle - from) * factor),
      Math.min(this.#fullRange.to, middle + (to - middle) * factor),
    )
  }

  /** Adds a value next to each name of the legend, and returns these. Several names become buttons that hide a part. */
  #addLegendValues(): LegendValue[] {
    const items = [...this.#figure.querySelectorAll<HTMLElement>('.legend [data-part]')]
    const canHide = items.filter(({ dataset }) => !dataset.part?.startsWith('marks')).length > 1
    return items.map(item => {
      const name = item.dataset.part!
      const [kind = '', part = '0'] = name.split(' ')
      const valueElement = newElement('span', 'told')
      item.append(valueElement)
      if (canHide && kind !== 'marks') this.#makeToggle(item, name)
      return { kind, part: Number(part), element: valueElement }
    })
  }

  /** Makes a name of the legend a button that hides and shows its part. */
  #makeToggle(item: HTMLElement, name: string): void {
    const button = newElement('button', 'toggle')
    button.type = 'button'
    button.setAttribute('aria-pressed', 'true')
    button.append(...item.childNodes)
    item.append(button)
    button.addEventListener('click', () => {
      const isShown = this.#hiddenParts.delete(name)
      if (!isShown) this.#hiddenParts.add(name)
      button.setAttribute('aria-pressed', String(isShown))
      this.#draw()
    })
  }
}

/** The band at an x; null if there is none. */
function bandAt({ starts, codes, bands }: Stripes, x: number): string | null {
  const run = starts.findLastIndex(start => start <= x)
  return run < 0 ? null : (bands[codes[run]!] ?? null)
}
