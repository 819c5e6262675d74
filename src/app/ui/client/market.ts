import type { ExportedEvent } from '../../../core/model/event.js'
import { count, numberText } from '../../../core/numbers.js'
import type { Changes, Screen } from '../../../research/screen/screen.js'
import type { FieldState, Now } from '../../../research/tally/now.js'
import { type Answer, post } from './answers.js'
import { refusal } from './events.js'
import { html, type Page } from './page.js'
import { TABS, type Tab } from './question.js'

/** The left side: conditions, who meets them now, what changed, and the bands of the ticker. */
export function marketView(page: Page) {
  const { tab } = page.question
  return html`<aside aria-label="Tickers">
    ${conditionForm(page)}
    <div class="tabs" role="tablist" aria-label="Lists" onKeyDown=${(event: KeyboardEvent) => chooseTabByKey(page, event)}>
      ${TABS.map(
        name => html`<button type="button" role="tab" id=${`tab-${name}`} aria-selected=${name === tab} aria-controls="list"
          tabindex=${name === tab ? 0 : -1} onClick=${() => page.ask({ tab: name })}>${tabTitle(page, name)}</button>`,
      )}
    </div>
    <div role="tabpanel" id="list" aria-labelledby=${`tab-${tab}`} tabindex="0">
      ${TAB_LISTS[tab](page)}
    </div>
  </aside>`
}

const TAB_LISTS = { matches: matchList, changes: changeList, now: bandList }

function tabTitle({ question }: Page, tab: Tab): string {
  if (tab === 'now') return question.ticker
  return tab === 'matches' ? 'Meet it now' : 'Changes'
}

/** Chooses the tab next to the present one by an arrow key. */
function chooseTabByKey(page: Page, { key, currentTarget }: KeyboardEvent): void {
  if (key !== 'ArrowRight' && key !== 'ArrowLeft') return
  const step = key === 'ArrowRight' ? 1 : -1
  const next = TABS[(TABS.indexOf(page.question.tab) + step + TABS.length) % TABS.length]!
  page.ask({ tab: next })
  ;(currentTarget as HTMLElement).querySelector<HTMLElement>(`#tab-${next}`)?.focus()
}

/** The condition of the question, the named conditions as buttons, and forms that change them and the lists. */
function conditionForm(page: Page) {
  const { when } = page.question
  const lists = page.answers.lists()
  const named = (lists.value ?? []).filter(list => list.condition !== null)
  const send = (event: SubmitEvent): void => {
    event.preventDefault()
    page.ask({ when: page.text('when').trim(), tab: 'matches' })
  }
  const sendOnEnter = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    ;(event.target as HTMLTextAreaElement).form!.requestSubmit()
  }
  const chosenCondition = named.find(({ name }) => when === `@${name}`)
  return html`<form onSubmit=${send}>
      <label for="when">Condition</label>
      <div class="line">
        <textarea id="when" class="code" rows="2" value=${page.text('when')} spellcheck=${false} autocomplete="off" onKeyDown=${sendOnEnter}
          onInput=${(event: InputEvent) => page.typed.set('when', (event.target as HTMLTextAreaElement).value)}></textarea>
        <button class="control">Find</button>
      </div>
    </form>
    ${refusal(lists.refusal)}
    <ul class="chips" aria-label="Named conditions">${named.map(
      ({ name, condition }) => html`<li key=${name}>
        <button type="button" class="control" title=${condition} aria-pressed=${when === `@${name}`}
        onClick=${() => page.ask({ when: `@${name}`, tab: 'matches' })}>@${name}</button></li>`,
    )}</ul>
    ${
      chosenCondition !== undefined
        ? html`<button type="button" class="control" onClick=${() => {
            page.ask({ when: chosenCondition.condition! })
            changeLists(page, 'remove_condition', { name: when })
          }}>Remove ${when}</button>`
        : nameForm('Keep the condition as', 'Keep', name =>
            changeLists(page, 'add_condition', { name, condition: when }),
          )
    }
    ${listForm(page)}
    ${refusal(page.typed.get('change refusal') ?? null)}`
}

/**
 * Chooses the tickers that the page shows: all, or those of a watch list. A button adds the ticker of the chart to the
 * list, or removes it. A list with a condition has no tickers of its own to add to, and is not offered.
 */
function listForm(page: Page) {
  const { list, ticker } = page.question
  const watchLists = (page.answers.lists().value ?? []).filter(({ condition }) => condition === null)
  const chosenList = watchLists.find(({ name }) => name === list)
  const isInList = chosenList?.tickers.includes(ticker) === true
  const chooseList = (event: Event): void => page.ask({ list: (event.target as HTMLSelectElement).value })
  return html`<div class="line lists">
      <label>Among <select value=${chosenList === undefined ? '' : list} onChange=${chooseList}><option value="">all tickers</option>${watchLists.map(
        ({ name, tickers }) => html`<option value=${name}>${name} (${tickers.length})</option>`,
      )}</select></label>
      ${
        chosenList !== undefined &&
        html`<button type="button" class="control" onClick=${() =>
          changeLists(page, isInList ? 'remove' : 'add', {
            name: list,
            tickers: [ticker],
          })}>${isInList ? '−' : '+'} ${ticker}</button>`
      }
    </div>
    ${
      chosenList !== undefined &&
      html`<button type="button" class="control" onClick=${() => {
        page.ask({ list: '' })
        changeLists(page, 'remove', { name: list })
      }}>Remove the list ${list}</button>`
    }
    ${
      chosenList === undefined &&
      nameForm(`Begin a list with ${ticker} as`, 'Begin', name => changeLists(page, 'add', { name, tickers: [ticker] }))
    }`
}

/** A folded box for a name, and a button that calls `use` with it. @param verb the text of the button */
function nameForm(label: string, verb: string, use: (name: string) => void) {
  const send = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = event.target as HTMLFormElement
    use(String(new FormData(form).get('name')).trim())
    form.reset()
  }
  return html`<details><summary>${label} …</summary><form class="line" onSubmit=${send}>
    <input name="name" aria-label=${`${label}: name`} required autocomplete="off" /><button class="control">${verb}</button></form></details>`
}

/** Changes the lists, and asks for them again. A refusal is shown below the form. */
function changeLists(page: Page, action: string, params: object): void {
  post(`/lists/${action}`, params)
    .then(
      () => page.typed.delete('change refusal'),
      (error: Error) => page.typed.set('change refusal', error.message),
    )
    .finally(() => {
      page.answers.forget('lists', 'screen')
      page.scheduleDraw()
    })
}

/** The tickers of the chosen list, `all`, or null as long as the lists are not known. */
function chosenTickers(page: Page): readonly string[] | 'all' | null {
  const { list } = page.question
  if (list === '') return 'all'
  const { value, isWaiting } = page.answers.lists()
  if (value === null && isWaiting) return null
  return value?.find(({ name, condition }) => name === list && condition === null)?.tickers ?? 'all'
}

/**
 * The rows of an answer about the tickers of the chosen list. An empty list gets a message instead.
 * @param slot name of the answer on the page, and of its question
 * @param read makes the title and the rows from the answer
 */
function listAmongTickers<Value>(
  page: Page,
  slot: 'screen' | 'changes',
  params: object,
  read: (value: Value) => [string, Row[]],
) {
  const tickers = chosenTickers(page)
  if (tickers === null) return html`<p class="quiet" role="status">Looking…</p>`
  if (tickers.length === 0) return html`<p class="quiet" role="status">The list has no tickers.</p>`
  const query = tickers === 'all' ? params : { ...params, tickers }
  return rowList(page.answers.query<Value>(slot, query), read)
}

/** The tickers that meet the condition now, among the chosen ones. */
function matchList(page: Page) {
  const { when, ticker } = page.question
  return listAmongTickers<Screen>(page, 'screen', { when }, ({ matches, scanned, stale, as_of }) => [
    `${numberText(matches.length)} of ${count(scanned, 'ticker')}, ${as_of}${stale === 0 ? '' : `; ${numberText(stale)} without a bar in the last week`}`,
    matches.map(match => ({
      key: match.ticker,
      name: match.ticker,
      about: match.since === null ? '' : `since ${match.since}`,
      more: match.bars === null ? '' : count(match.bars, 'bar'),
      isChosen: match.ticker === ticker,
      choose: () => page.ask({ ticker: match.ticker }),
    })),
  ])
}

/** The newest changes of band of all fields, among the chosen tickers. */
function changeList(page: Page) {
  const { ticker, field, band } = page.question
  const rowOf = (change: ExportedEvent): Row => ({
    key: `${change.ticker} ${change.field} ${change.date}`,
    name: change.ticker,
    about: change.field,
    more: `${change.prev_band} → ${change.band}`,
    isChosen: change.ticker === ticker && change.field === field && change.band === band,
    choose: () => page.ask({ ticker: change.ticker, field: change.field, band: change.band, date: change.date }),
  })
  return listAmongTickers<Changes>(page, 'changes', { timeframe: 'daily' }, ({ changes, since, as_of }) => [
    `${count(changes.length, 'change')} after ${since}, as of ${as_of}`,
    changes.map(rowOf),
  ])
}

/** The present band of each field of the ticker; fields without a band are left out. */
function bandList(page: Page) {
  const { ticker, field } = page.question
  const answer = page.answers.query<Now>('now', { tickers: [ticker] })
  const rowOf = (state: FieldState): Row => ({
    key: state.field,
    name: state.field,
    about: state.since === null ? '' : `since ${state.since}`,
    more: (state.band ?? '').replaceAll('_', ' '),
    isChosen: state.field === field,
    choose: () => page.ask({ field: state.field, band: state.band! }),
  })
  return rowList(answer, ({ states, as_of }) => [
    `the bands of ${ticker}, ${as_of}`,
    states.filter(({ band }) => band !== null).map(rowOf),
  ])
}

interface Row {
  key: string
  name: string
  about: string
  more: string
  isChosen: boolean
  choose(): void
}

/** Rows that are drawn before more are wanted. */
const MOST_ROWS = 300

/** The rows that `read` makes of an answer, under their title; a message while it is awaited, or if it was refused. */
function rowList<Value>({ value, refusal: why, isWaiting }: Answer<Value>, read: (value: Value) => [string, Row[]]) {
  if (why !== null) return refusal(why)
  if (value === null) return html`<p class="quiet" role="status">Looking…</p>`
  const [title, rows] = read(value)
  return html`<p class="quiet" role="status">${isWaiting ? 'Looking…' : title}</p>
    <ul class="rows" aria-busy=${isWaiting}>${rows.slice(0, MOST_ROWS).map(
      row => html`<li key=${row.key}><button type="button" class="row" aria-pressed=${row.isChosen} onClick=${row.choose}>
        <b>${row.name}</b> <span>${row.about}</span> <span class="end">${row.more}</span></button></li>`,
    )}</ul>
    ${rows.length > MOST_ROWS && html`<p class="quiet">Here are the first ${MOST_ROWS}.</p>`}`
}
