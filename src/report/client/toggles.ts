import type uPlot from 'uplot'
import type { Chart } from '../charts/spec.js'

/** Makes each line of the legend a button that hides what it names, where there is more than one. */
export function toggles(figure: HTMLElement, { lines, ribbons, bars }: Chart, u: uPlot): void {
  const places = new Map<string, number[]>()
  lines.forEach((_, i) => void places.set(`line ${i}`, [1 + i]))
  const afterLines = 1 + lines.length
  ribbons.forEach((_, i) => void places.set(`ribbon ${i}`, [afterLines + 2 * i, afterLines + 2 * i + 1]))
  bars.forEach((_, i) => void places.set(`bars ${i}`, [afterLines + 2 * ribbons.length + i]))
  if (places.size < 2) return
  for (const item of figure.querySelectorAll<HTMLElement>('.legend [data-part]')) {
    const series = places.get(item.dataset.part ?? '')
    if (series === undefined) continue
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'toggle'
    button.setAttribute('aria-pressed', 'true')
    button.append(...item.childNodes)
    item.append(button)
    button.addEventListener('click', () => {
      const show = button.getAttribute('aria-pressed') === 'false'
      button.setAttribute('aria-pressed', String(show))
      for (const place of series) u.setSeries(place, { show })
    })
  }
}
