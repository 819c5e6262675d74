import type { Form, FormField } from '../forms.js'
import { post } from './answers.js'
import { refusal } from './events.js'
import { html, type Page } from './page.js'

type Params = Record<string, unknown>

/** The view of a question about returns: a form with its parameters, and the report in a frame. */
export function studyView(page: Page, form: Form) {
  const { query, view } = page.question
  const params = paramsFromQuery(query)
  const { tickers: allTickers } = page.start
  const report = params === null ? null : page.answers.reportAddress(view, { tickers: allTickers, ...params })
  const send = (event: SubmitEvent): void => {
    event.preventDefault()
    page.ask({ query: JSON.stringify(paramsFromForm(event.target as HTMLFormElement, form)) })
    // On a narrow screen the report is below the form.
    const main = document.getElementById('main')!
    if (main.getBoundingClientRect().top > innerHeight / 2) main.scrollIntoView()
  }
  const shownParams = params ?? paramsOfChart(page, form)
  const boxOf = (field: FormField) => fieldBox(page, field, shownParams[field.name])
  return html`<aside class="tall" aria-label="Question">
      <form class="question" key=${`${view} ${page.visit}`} onSubmit=${send}>
        <h2>${form.title}</h2>
        <p class="quiet">${form.about}</p>
        <label>Tickers <input name="tickers" defaultValue=${boxText(shownParams.tickers)} placeholder=${`all ${allTickers.length}`} autocomplete="off" /></label>
        ${form.name === 'compare' && strategyBoxes(page, shownParams)}
        ${form.first.map(boxOf)}
        <details><summary>${form.others.length} more</summary>${form.others.map(boxOf)}</details>
        <button class="control send">Run</button>
      </form>
    </aside>
    <main id="main" aria-busy=${report?.isWaiting === true}>
      ${report === null && html`<p class="quiet">Fill in the form and press Run. The report appears here; it counts in the trial log.</p>`}
      ${report?.isWaiting && workingMessage()}
      ${report !== null && refusal(report.refusal)}
      ${
        report?.value &&
        html`<p class="quiet"><a href=${report.value} target="_blank">In a tab of its own</a></p>
        <iframe title="Report" sandbox="allow-scripts allow-downloads" src=${report.value}></iframe>`
      }
    </main>`
}

/** The message while a question runs, with a button that stops it. */
function workingMessage() {
  const stop = (): void => void post('/stop', {}).catch(() => {})
  return html`<p role="status">Working… A question of many tickers takes a while.${' '}
    <button type="button" class="control" onClick=${stop}>Stop</button></p>`
}

/** The box of one parameter: a switch, a list of words, or a text. @param value to fill in */
function fieldBox(page: Page, { name, help, takes, words }: FormField, value: unknown) {
  const title = name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
  const id = `field-${name}`
  const text = boxText(value)
  const choices = name === 'field' ? page.start.fields.map(field => field.name) : words
  const about = html`<span class="quiet" id=${`${id}-help`}>${help}</span>`
  if (takes === '')
    return html`<div class="box"><label for=${id}><input type="checkbox" id=${id} name=${name} defaultChecked=${value === true} aria-describedby=${`${id}-help`} /> ${title}</label>${about}</div>`
  const input =
    choices.length > 0 && choices.length <= MAX_CHOICES
      ? html`<select id=${id} name=${name} aria-describedby=${`${id}-help`}><option value=""></option>${choices.map(
          word => html`<option value=${word} selected=${word === text}>${word}</option>`,
        )}</select>`
      : html`<input id=${id} name=${name} defaultValue=${text} placeholder=${takes} list=${choices.length > 0 && `${id}-words`}
          autocomplete="off" aria-describedby=${`${id}-help`} />
          ${choices.length > 0 && html`<datalist id=${`${id}-words`}>${choices.map(word => html`<option value=${word} />`)}</datalist>`}`
  return html`<div class="box"><label for=${id}>${title}</label>${input}${about}</div>`
}

/** Longer lists of words are hints of a box. */
const MAX_CHOICES = 8

/** A text box for each strategy file, and a button that adds one. Two examples are filled in at first. */
function strategyBoxes(page: Page, { strategies: texts }: Params) {
  const strategies = Array.isArray(texts) ? texts.map(String) : EXAMPLES
  const boxes = Number(page.typed.get('strategies') ?? strategies.length)
  const add = (): void => {
    page.typed.set('strategies', String(boxes + 1))
    page.scheduleDraw()
  }
  return html`${Array.from({ length: boxes }, (_, i) => {
    const id = `strategy-${i + 1}`
    return html`<div class="box"><label for=${id}>Strategy ${i + 1}</label>
      <textarea class="code" id=${id} name="strategies" rows="5" spellcheck=${false} defaultValue=${strategies[i] ?? ''}></textarea></div>`
  })}
  <button type="button" class="control" onClick=${add}>Add a strategy</button>`
}

const EXAMPLES = [5, 20].map(
  hold => `name: hold ${hold}\nentry:\n  field: rsi_zone\n  bands: [oversold]\nexit:\n  hold: ${hold}\n`,
)

/** The parameters that fill a form before it is sent: the ticker and the events of the chart. */
function paramsOfChart({ question: { ticker, field, band, when } }: Page, { name }: Form): Params {
  if (name === 'sweep' || name === 'compare') return { tickers: ticker }
  const params = field === '' ? { tickers: ticker, when } : { tickers: ticker, field, band }
  if (name === 'backtest') return { ...params, hold: '20' }
  return name === 'grid' ? { ...params, vary: 'hold=5,10,20' } : params
}

/** A value as the text of a box; a list is joined by commas. */
function boxText(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ')
  return value === undefined ? '' : String(value)
}

/** The filled fields of a form, as parameters of the library. */
function paramsFromForm(element: HTMLFormElement, { first, others }: Form): Params {
  const data = new FormData(element)
  const text = (name: string): string => String(data.get(name) ?? '').trim()
  const params: Params = {}
  const tickers = text('tickers')
    .split(/[\s,]+/)
    .filter(Boolean)
  if (tickers.length > 0) params.tickers = tickers.map(ticker => ticker.toUpperCase())
  const strategies = data.getAll('strategies').map(String)
  const filled = strategies.filter(strategy => strategy.trim() !== '')
  if (filled.length > 0) params.strategies = filled
  for (const { name, takes } of [...first, ...others]) {
    if (takes === '') {
      if (data.has(name)) params[name] = true
    } else if (text(name) !== '') {
      // A semicolon separates the varied parameters of a grid.
      params[name] = name === 'vary' ? text(name).split(/\s*;\s*/) : text(name)
    }
  }
  return params
}

/** The parameters of a form in the address; null before it was sent, and for a text that is no JSON object. */
function paramsFromQuery(query: string): Params | null {
  try {
    const params: unknown = JSON.parse(query || 'null')
    return typeof params === 'object' && params !== null && !Array.isArray(params) ? (params as Params) : null
  } catch {
    return null
  }
}
