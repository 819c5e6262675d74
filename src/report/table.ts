import { type Html, html } from '../html.js'
import { type Cell, type CellNames, type Heading, isNumber, type Table, type Tone } from '../present/description.js'
import { count as counted } from '../present/numbers.js'
import { cellPiece, count, orderOf } from './values.js'

/** At most so many rows stand in the page. */
export const MOST_ROWS = 250

/** Tones as the style sheet names them. */
export const CLASSES: Readonly<Record<Tone, string>> = { good: 'gain', bad: 'loss', faint: 'quiet', strong: 'strong' }

/** A table that scrolls within itself. More than MOST_ROWS rows are cut, and it says so. */
export function table(of: Table): Html {
  const { caption, columns, rows, empty, sorted, filter } = of
  if (rows.length === 0 && empty !== undefined) return html`<p class="empty">${empty}</p>`
  const places = placesOf(of)
  const shown = [...rows.keys()].slice(0, MOST_ROWS)
  return html`${filter !== undefined && filterForm(filter)}
<div class="table-box"${sorted !== undefined && html` data-table="sorted" data-rows="${rows.length}"`}>
<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table${places.length > 13 && html` class="wide"`}>
<caption><span>${caption}</span></caption>
<thead><tr>${places.map(i => heading(columns[i]!))}</tr></thead>
<tbody>
${tableRows(of, shown)}</tbody></table></div>
${rows.length > shown.length && html`<p class="cut">Here are ${sorted?.cut ?? 'the first'} ${count(shown.length)} of ${count(rows.length)} rows; ${sorted?.whole ?? '--json'} has all.</p>`}
</div>
`
}

/** The columns that a page shows. */
function placesOf({ columns }: Table): number[] {
  return [...columns.keys()].filter(i => columns[i]!.on !== 'terminal')
}

function heading({ title, hint, kind }: Heading): Html {
  if (title === '') return html`<td></td>`
  return html`<th scope="col"${isNumber(kind) && html` class="num"`}>${hint === undefined ? title : html`<abbr title="${hint}">${title}</abbr>`}</th>`
}

/** Rows of the body by their places. The first column names the row. */
export function tableRows(of: Table, rows: readonly number[]): Html {
  const { columns, rows: all, grey } = of
  const places = placesOf(of)
  return html`${rows.map(
    r => html`<tr>${places.map((i, place) => cell(all[r]![i]!, columns[i]!, grey?.[r] ?? false, place === 0))}</tr>\n`,
  )}`
}

function cell(of: Cell, { kind, wraps }: Heading, isGrey: boolean, isName: boolean): Html {
  const tone = isGrey ? 'faint' : of.tone
  const heat = of.heat === undefined || of.heat === 0 ? '' : `up-${of.heat}`
  const classes = [isNumber(kind) && 'num', wraps && 'wrap', tone && CLASSES[tone], heat].filter(Boolean).join(' ')
  const attribute = classes === '' ? '' : html` class="${classes}"`
  const piece = cellPiece(of)
  return isName ? html`<th scope="row"${attribute}>${piece}</th>` : html`<td${attribute}>${piece}</td>`
}

/** Places of rows in the order of a column; rows that are equal in it keep theirs, rows without a value come last. */
export function ordered(of: Table, rows: readonly number[], column: number, isDescending: boolean): number[] {
  const place = placesOf(of)[column]!
  const keys = new Map(rows.map(r => [r, orderOf(of.rows[r]![place]!)]))
  return [...rows].sort((r, s) => {
    const [a, b] = [keys.get(r) ?? null, keys.get(s) ?? null]
    if (a === null || b === null) return Number(a === null) - Number(b === null) || r - s
    const order = a < b ? -1 : a > b ? 1 : 0
    return (isDescending ? -order : order) || r - s
  })
}

export interface CellFilter {
  /** Every word of it must occur in what names the row. */
  text: string
  field: string
  window: string
  only: '' | 'found' | 'tested'
}

/** Places of the rows that pass. */
export function filtered({ rows, filter }: Table, by: CellFilter | null): number[] {
  const all = [...rows.keys()]
  if (filter === undefined || by === null) return all
  const words = by.text.toLowerCase().split(/\s+/).filter(Boolean)
  return all.filter(r => {
    const { text, field, window, isTested, isFound } = filter[r]!
    if ((by.field !== '' && field !== by.field) || (by.window !== '' && window !== by.window)) return false
    if ((by.only === 'found' && !isFound) || (by.only === 'tested' && !isTested)) return false
    return words.every(word => text.includes(word))
  })
}

/** For the page's script, which shows it: without it there is nothing to filter with. */
function filterForm(names: readonly CellNames[]): Html {
  const fields = [...new Set(names.map(({ field }) => field))]
  const windows = [...new Set(names.map(({ window }) => window))]
  windows.sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
  const option = (name: string): Html => html`<option value="${name}">${name}</option>`
  return html`<form class="filters" hidden>
<label>Find <input class="control" type="search" name="text" placeholder="band, field, ticker" autocomplete="off"></label>
<label>Field <select class="control" name="field"><option value="">all</option>${fields.map(option)}</select></label>
<label>Window <select class="control" name="window"><option value="">all</option>${windows.map(option)}</select></label>
<label>Show <select class="control" name="only"><option value="">all ${counted(names.length, 'cell')}</option><option value="tested">those with a p-value</option><option value="found">those with q below 0.05</option></select></label>
<output aria-live="polite"></output>
</form>`
}
