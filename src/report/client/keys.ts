import type uPlot from 'uplot'

interface Zoomed {
  zoom(from: number, to: number): void
  reset(): void
}

/** The pointer's doings for whoever has none: arrows move along the values, + and - zoom, Escape shows all again. */
export function steer(place: HTMLElement, u: uPlot, told: HTMLElement, zoomed: Zoomed): void {
  place.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const act = ACTS[event.key]
    if (act === undefined) return
    // What the pointer passes over is not read out, what was stepped to is.
    told.setAttribute('aria-live', 'polite')
    act(u, zoomed, event.shiftKey ? 10 : 1)
    event.preventDefault()
  })
  place.addEventListener('mousemove', () => told.removeAttribute('aria-live'))
}

const ACTS: Readonly<Record<string, (u: uPlot, zoomed: Zoomed, far: number) => void>> = {
  ArrowLeft: (u, _, far) => step(u, -far),
  ArrowRight: (u, _, far) => step(u, far),
  Home: u => step(u, Number.NEGATIVE_INFINITY),
  End: u => step(u, Number.POSITIVE_INFINITY),
  '+': (u, zoomed) => magnify(u, zoomed, 0.5),
  '=': (u, zoomed) => magnify(u, zoomed, 0.5),
  '-': (u, zoomed) => magnify(u, zoomed, 2),
  Escape: (_, zoomed) => zoomed.reset(),
}

function step(u: uPlot, by: number): void {
  const xs = u.data[0]
  const { min, max } = u.scales.x!
  const first = xs.findIndex(x => x >= min!)
  let last = xs.length - 1
  while (last > first && xs[last]! > max!) last--
  if (first < 0) return
  const now = u.cursor.idx ?? (by > 0 ? first - 1 : last + 1)
  const next = Math.min(last, Math.max(first, now + by))
  u.setCursor({ left: u.valToPos(xs[next]!, 'x'), top: u.over.clientHeight / 2 })
}

function magnify(u: uPlot, zoomed: Zoomed, times: number): void {
  const { min, max } = u.scales.x!
  const xs = u.data[0]
  const middle = u.cursor.idx === null || u.cursor.idx === undefined ? (min! + max!) / 2 : xs[u.cursor.idx]!
  const [from, to] = [middle - (middle - min!) * times, middle + (max! - middle) * times]
  const [first, last] = [xs[0]!, xs.at(-1)!]
  if (from <= first && to >= last) zoomed.reset()
  else zoomed.zoom(Math.max(from, first), Math.min(to, last))
}
