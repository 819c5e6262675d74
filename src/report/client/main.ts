import type { Chart } from '../../present/chart.js'
import { Plot } from './plot.js'
import { enliven, type Result } from './tables.js'

const text = document.getElementById('result')?.textContent ?? 'null'
for (const data of document.querySelectorAll<HTMLElement>('[data-chart]')) {
  new Plot(data.closest('figure')!, JSON.parse(data.textContent ?? '') as Chart)
}
enliven(JSON.parse(text) as Result)
tellWide()
saving()

/** Writes the result into a file of its own. */
function saving(): void {
  const button = document.querySelector<HTMLElement>('[data-save]')
  if (button === null) return
  button.parentElement!.hidden = false
  button.addEventListener('click', () => {
    const link = document.createElement('a')
    const address = URL.createObjectURL(new Blob([text, '\n'], { type: 'application/json' }))
    link.href = address
    link.download = 'result.json'
    link.click()
    URL.revokeObjectURL(address)
  })
}

/** Says above what is wider than the page that it can be scrolled, as long as there is something out of sight. */
function tellWide(): void {
  for (const box of document.querySelectorAll<HTMLElement>('.scroll')) {
    const line = document.createElement('p')
    line.className = 'more'
    line.textContent = 'Wider than the page: scroll the table sideways →'
    // The table is a region with a name already; whoever hears the page is not told of its edge.
    line.setAttribute('aria-hidden', 'true')
    box.before(line)
    const look = (): void => {
      line.hidden = box.scrollWidth <= box.clientWidth + 1
    }
    new ResizeObserver(look).observe(box)
    look()
  }
}
