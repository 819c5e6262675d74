// For: what the page does in the browser.
// In: the page and the numbers in it.
// Out: tooltips, zoom, filters and longer tables.

import type { Backtest } from '../../../research/backtest/result.js'
import type { EventStudy } from '../../../research/study/result.js'
import type { Sweep } from '../../../research/sweep/result.js'
import type { Chart } from '../../present/chart.js'
import { longTable } from '../../present/long-tables.js'
import { type CellFilter, count, filterRows, MOST_ROWS, sortRows, tableRows } from '../table.js'
import { Plot } from './plot.js'

const resultText = document.getElementById('result')?.textContent ?? 'null'
for (const data of document.querySelectorAll<HTMLElement>('[data-chart]')) {
  new Plot(data.closest('figure')!, JSON.parse(data.textContent ?? '') as Chart)
}
makeInteractive(JSON.parse(resultText) as EventStudy | Backtest | Sweep)
markWideTables()
enableSaving()
openFoldsForPrint()
openLinkedFold()
addEventListener('hashchange', openLinkedFold)

/** Opens the folded section of the address. */
function openLinkedFold(): void {
  const fold = document.querySelector<HTMLDetailsElement>(':target > details')
  if (fold !== null) fold.open = true
}

/** Opens folded sections while the page is printed, apart from long ones. */
function openFoldsForPrint(): void {
  let opened: HTMLDetailsElement[] = []
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>('details:not(.long, [open])')]
    for (const fold of opened) fold.open = true
  })
  addEventListener('afterprint', () => {
    for (const fold of opened) fold.open = false
  })
}

/** Shows the button that saves the result as a JSON file. */
function enableSaving(): void {
  const button = document.querySelector<HTMLElement>('[data-save]')
  if (button === null) return
  button.parentElement!.hidden = false
  button.addEventListener('click', () => {
    const link = document.createElement('a')
    const address = URL.createObjectURL(new Blob([resultText, '\n'], { type: 'application/json' }))
    link.href = address
    link.download = 'result.json'
    link.click()
    URL.revokeObjectURL(address)
  })
}

/** Adds a line above each scrollable part, which shows while the part is wider than the page. */
function markWideTables(): void {
  for (const box of document.querySelectorAll<HTMLElement>('.scroll')) {
    const line = document.createElement('p')
    line.className = 'more'
    line.textContent = 'Wider than the page: scroll the table sideways →'
    // The table is already a named region; a screen reader needs no hint about its edge.
    line.setAttribute('aria-hidden', 'true')
    box.before(line)
    const updateLine = (): void => {
      line.hidden = box.scrollWidth <= box.clientWidth + 1
    }
    new ResizeObserver(updateLine).observe(box)
    updateLine()
  }
}

/** Makes the long table of the page sortable by its headings, and filterable if it has a form. */
function makeInteractive(result: EventStudy | Backtest | Sweep): void {
  const box = document.querySelector<HTMLElement>('[data-table="sorted"]')
  if (box === null) return
  const table = longTable(result)
  const body = box.querySelector('tbody')!
  const form = document.querySelector<HTMLFormElement>('form.filters')
  const totalRows = Number(box.dataset.rows)
  let order: { column: number; isDescending: boolean } | null = null

  // Draws the rows that pass the filter, in the chosen order, and writes how many they are.
  const drawRows = (): void => {
    const matching = filterRows(table, form && filterOf(form))
    const rows = order === null ? matching : sortRows(table, matching, order.column, order.isDescending)
    const shown = rows.slice(0, MOST_ROWS)
    body.innerHTML = tableRows(table, shown).text
    const firstText = shown.length < matching.length ? `the first ${count(shown.length)} of ` : ''
    // A page carries no more of a long list than it has room for.
    const totalText =
      totalRows > table.rows.length ? `, of ${count(totalRows)}: ${table.sorted!.fullListOption} has all` : ''
    const rowsText = `${firstText}${count(matching.length)} rows${totalText}`
    const output = form?.querySelector('output') ?? box.querySelector('.cut')
    if (output) output.textContent = form ? rowsText : `Here are ${rowsText}.`
  }

  const headings = [...box.querySelectorAll<HTMLElement>('thead th')]
  const sortBy = (heading: HTMLElement, column: number): void => {
    // The first click sorts numbers from the greatest down and words from the first on; the next one reverses that.
    const isAgain = order?.column === column
    const isDescending: boolean = isAgain ? !order?.isDescending : heading.classList.contains('num')
    order = { column, isDescending }
    for (const other of headings) other.removeAttribute('aria-sort')
    heading.setAttribute('aria-sort', isDescending ? 'descending' : 'ascending')
    drawRows()
  }
  headings.forEach((heading, column) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'sort'
    button.append(...heading.childNodes)
    heading.append(button)
    button.addEventListener('click', () => sortBy(heading, column))
  })
  if (form === null) return
  form.hidden = false
  box.querySelector('.cut')?.remove()
  form.addEventListener('submit', event => event.preventDefault())
  form.addEventListener('input', drawRows)
  drawRows()
}

function filterOf(form: HTMLFormElement): CellFilter {
  const data = new FormData(form)
  const value = (name: string): string => String(data.get(name) ?? '')
  return {
    text: value('text'),
    field: value('field'),
    window: value('window'),
    only: value('only') as CellFilter['only'],
  }
}
