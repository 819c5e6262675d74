import type { Chart } from '../charts/spec.js'
import type { Result } from '../tables.js'
import { Plot } from './plot.js'
import { enliven } from './tables.js'
import { tellWide } from './wide.js'

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
