// For: the page of bands in the browser.
// In: the address, clicks and keys, and answers of the server of the page.
// Out: the page, and the address of the next question.

import { render } from 'preact'
import type { PageStart } from '../page.js'
import { subjectView } from './events.js'
import { marketView } from './market.js'
import { html, Page } from './page.js'
import { studyView } from './study.js'

const app = document.getElementById('app')!
const first = JSON.parse(document.getElementById('first')!.textContent!) as PageStart

new Page(first, page => {
  document.title = `${page.question.ticker} ${page.question.field} · bands`
  const form = first.forms.find(({ name }) => name === page.question.view)
  const shown = form === undefined ? html`${marketView(page)}${subjectView(page)}` : html`${studyView(page, form)}`
  render(html`${header(page)}<div class="body">${shown}</div>`, app)
  document.documentElement.dataset.answers = page.answers.isWaiting ? 'some' : 'all'
})

/** The head of the page: the questions, and for prices and events the ticker, field and band. */
function header(page: Page) {
  const { field, band } = page.question
  const { fields, tickers, as_of, sample } = page.start
  const bands = fields.find(({ name }) => name === field)?.bands ?? []
  const send = (event: SubmitEvent): void => {
    event.preventDefault()
    page.ask({ ticker: page.text('ticker').trim().toUpperCase() })
  }
  const chooseField = (name: string): void => {
    const [firstBand = ''] = fields.find(field => field.name === name)?.bands ?? []
    // Both at once: the band of one field is no band of another.
    page.ask({ field: name, band: firstBand })
  }
  const chosenValue = (event: Event): string => (event.target as HTMLSelectElement).value
  return html`<header>
    <a class="skip" href="#main">Skip to the chart</a>
    <h1>bands</h1>
    <nav aria-label="Questions">${[{ name: '', title: 'Events' }, ...page.start.forms].map(
      ({ name, title }) =>
        html`<button type="button" class="plain" aria-current=${name === page.question.view && 'page'} onClick=${() => page.ask({ view: name, query: '' })}>${title}</button>`,
    )}</nav>
    ${
      page.question.view === '' &&
      html`<form onSubmit=${send}>
      <label>Ticker <input name="ticker" list="tickers" size="8" value=${page.text('ticker')} spellcheck=${false} autocomplete="off"
        onInput=${(event: InputEvent) => page.typed.set('ticker', (event.target as HTMLInputElement).value)}
        onChange=${(event: InputEvent) => tickers.includes(chosenValue(event).toUpperCase()) && page.ask({ ticker: chosenValue(event).toUpperCase() })} /></label>
      <datalist id="tickers">${tickers.map(ticker => html`<option value=${ticker} />`)}</datalist>
      <label>Field <select value=${field} onChange=${(event: Event) => chooseField(chosenValue(event))}>
        <option value="">the condition</option>
        ${fields.map(({ name, summary }) => html`<option value=${name} title=${summary}>${name}</option>`)}</select></label>
      ${
        field !== '' &&
        html`<label>Band <select value=${band} onChange=${(event: Event) => page.ask({ band: chosenValue(event) })}>${bands.map(
          name => html`<option value=${name}>${name}</option>`,
        )}</select></label>`
      }
    </form>`
    }
    <p class="quiet">${sample ? 'sample data' : `${tickers.length} tickers`}${as_of !== null && `, to ${as_of}`}</p>
  </header>`
}
