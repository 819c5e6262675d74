import type { Backtest } from '../../backtest/result.js'
import { cellsTable } from '../../present/cells.js'
import type { Table } from '../../present/description.js'
import { occurrencesTable } from '../../present/occurrences.js'
import { tradesTable } from '../../present/trades.js'
import type { EventStudy } from '../../study/result.js'
import type { Sweep } from '../../sweep/result.js'
import { type CellFilter, filtered, MOST_ROWS, ordered, tableRows } from '../table.js'
import { count } from '../values.js'

export type Result = EventStudy | Backtest | Sweep

/** The table of a page that people sort. */
function sortedTable(result: Result): Table {
  if (result.schema === 'bands.study/1') return occurrencesTable(result)
  return result.schema === 'bands.backtest/1' ? tradesTable(result) : cellsTable(result)
}

/** Lets the long table of the page be sorted by its headings, and filtered where there is a form for it. */
export function enliven(result: Result): void {
  const box = document.querySelector<HTMLElement>('[data-table="sorted"]')
  if (box === null) return
  const table = sortedTable(result)
  const body = box.querySelector('tbody')!
  const form = document.querySelector<HTMLFormElement>('form.filters')
  let order: { column: number; descending: boolean } | null = null

  const show = (): void => {
    const found = filtered(table, form && filterOf(form))
    const rows = order === null ? found : ordered(table, found, order.column, order.descending)
    const shown = rows.slice(0, MOST_ROWS)
    body.innerHTML = tableRows(table, shown).text
    const told = `${shown.length < found.length ? `the first ${count(shown.length)} of ` : ''}${count(found.length)} rows`
    const place = form?.querySelector('output') ?? box.querySelector('.cut')
    if (place)
      place.textContent = form ? told : `Here are ${told}; all of them are in the JSON at the end of this page.`
  }

  const headings = [...box.querySelectorAll<HTMLElement>('thead th')]
  headings.forEach((heading, column) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'sort'
    button.append(...heading.childNodes)
    heading.append(button)
    button.addEventListener('click', () => {
      // Numbers are looked at from the greatest down, words from the first on.
      const again = order?.column === column
      const descending: boolean = again ? !order?.descending : heading.classList.contains('num')
      order = { column, descending }
      for (const other of headings) other.removeAttribute('aria-sort')
      heading.setAttribute('aria-sort', descending ? 'descending' : 'ascending')
      show()
    })
  })
  if (form === null) return
  form.hidden = false
  box.querySelector('.cut')?.remove()
  form.addEventListener('submit', event => event.preventDefault())
  form.addEventListener('input', show)
  show()
}

function filterOf(form: HTMLFormElement): CellFilter {
  const data = new FormData(form)
  const told = (name: string): string => String(data.get(name) ?? '')
  return { text: told('text'), field: told('field'), window: told('window'), only: told('only') as CellFilter['only'] }
}
