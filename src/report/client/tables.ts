import { count } from '../html.js'
import { type CellFilter, MOST_ROWS, type Result, sortedTable } from '../tables.js'

/** Lets the long table of the page be sorted by its headings, and filtered where there is a form for it. */
export function enliven(result: Result): void {
  const box = document.querySelector<HTMLElement>('[data-table="sorted"]')
  if (box === null) return
  const { sortable, rows } = sortedTable(result)
  const body = box.querySelector('tbody')!
  const form = document.querySelector<HTMLFormElement>('form.filters')
  let order: { column: number; descending: boolean } | null = null

  const show = (): void => {
    const { text, shown, found } = rows(order, form && filterOf(form), MOST_ROWS)
    body.innerHTML = text
    const told = `${shown < found ? `the first ${count(shown)} of ` : ''}${count(found)} rows`
    const place = form?.querySelector('output') ?? box.querySelector('.cut')
    if (place)
      place.textContent = form ? told : `Here are ${told}; all of them are in the JSON at the end of this page.`
  }

  const headings = [...box.querySelectorAll<HTMLElement>('thead th')]
  headings.forEach((heading, column) => {
    if (!sortable[column]) return
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
