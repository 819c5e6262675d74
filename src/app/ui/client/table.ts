import { type Cell, type Heading, isNumeric, type Table } from '../../present/description.js'
import { signedPercent, TONE_CLASSES, UNKNOWN_SIGN } from '../../report/table.js'
import { html } from './page.js'

/** A row that can be chosen: its first cell is a button. */
interface Choice {
  isChosen(row: number): boolean
  choose(row: number): void
}

/** Draws a described table. @param shownRows indexes of the rows to draw */
export function drawTable(
  { caption, columns, rows }: Table,
  shownRows: readonly number[],
  { isChosen, choose }: Choice,
) {
  // The indexes of the columns that a page shows.
  const shownColumns = columns.flatMap(({ on }, i) => (on === undefined || on === 'page' || on === 'wide' ? [i] : []))
  return html`<div class="scroll" role="region" tabindex="0" aria-label=${caption}><table>
    <thead><tr>${shownColumns.map(column => heading(columns[column]!))}</tr></thead>
    <tbody>${shownRows.map(row => {
      const [first, ...others] = shownColumns.map(column => rows[row]![column]!)
      return html`<tr key=${row} class=${isChosen(row) && 'on'}>
        <th scope="row"><button type="button" class="row" aria-pressed=${isChosen(row)} onClick=${() => choose(row)}>${cellText(first!)}</button></th>
        ${others.map(cell => html`<td class=${classesOf(cell)} title=${titleOf(cell)}>${cellText(cell)}</td>`)}</tr>`
    })}</tbody>
  </table></div>`
}

function heading({ title, verbatimTitle, kind, hint }: Heading) {
  const text = verbatimTitle ? title : title.charAt(0).toUpperCase() + title.slice(1).replaceAll('_', ' ')
  return html`<th scope="col" class=${isNumeric(kind) && 'num'} title=${hint}>${text}</th>`
}

/** The text of a cell. Of a performance band with its return it is the return; `titleOf` has the band. */
function cellText({ content }: Cell): string {
  if (typeof content !== 'object' || content === null) return content === null ? UNKNOWN_SIGN : String(content)
  const [first, second] = content
  return typeof second === 'number' ? signedPercent(second, 1) : String(first ?? UNKNOWN_SIGN)
}

/** The tip of a cell with two values: the first one, such as the name of a performance band. */
function titleOf({ content }: Cell): string | undefined {
  return typeof content === 'object' && content !== null ? String(content[0]).replaceAll('_', ' ') : undefined
}

function classesOf({ kind, content, tone }: Cell): string {
  const isPair = typeof content === 'object' && content !== null
  return [(isNumeric(kind) || isPair) && 'num', tone && TONE_CLASSES[tone]].filter(Boolean).join(' ')
}
