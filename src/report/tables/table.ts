import { count } from '../format.js'
import { type Html, html, type Piece } from '../html.js'
import { type Column, MOST_ROWS, tableRows } from './column.js'

export interface TableOptions<Row> {
  /** Names the table for whoever cannot see it, and above it for everyone. */
  caption: Piece
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  /** Said in place of a table without rows. */
  empty?: string
  /** Under this name the page's script finds the columns and the rows again, to sort them. */
  id?: string
  /** What the rows are when there are more than fit, such as `the newest`. */
  cut?: string
}

/** A table that scrolls within itself. More than MOST_ROWS rows are cut, and it says so. */
export function table<Row>({ caption, columns: all, rows, empty, id, cut = 'the first' }: TableOptions<Row>): Html {
  const columns = all.filter(({ shown }) => shown === undefined || rows.some(shown))
  if (rows.length === 0 && empty !== undefined) return html`<p class="empty">${empty}</p>`
  const shown = rows.slice(0, MOST_ROWS)
  return html`<div class="table-box"${id !== undefined && html` data-table="${id}"`}>
<div class="scroll" role="region" tabindex="0" aria-label="${captionText(caption)}"><table${columns.length > 13 && html` class="wide"`}>
<caption><span>${caption}</span></caption>
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>
${tableRows(columns, shown)}</tbody></table></div>
${rows.length > shown.length && html`<p class="cut">Here are ${cut} ${count(shown.length)} of ${count(rows.length)} rows; all of them are in the JSON at the end of this page.</p>`}
</div>`
}

function heading<Row>({ title, hint, numeric }: Column<Row>): Html {
  return html`<th scope="col"${numeric && html` class="num"`}${hint !== undefined && html` title="${hint}"`}>${title}</th>`
}

function captionText(caption: Piece): Piece {
  return typeof caption === 'string' ? caption : 'table'
}
