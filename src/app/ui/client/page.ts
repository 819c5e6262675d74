import htm from 'htm'
import { h, type VNode } from 'preact'
import type { PageStart } from '../page.js'
import { Answers } from './answers.js'
import { type Asked, questionFromSearch, searchFromQuestion } from './asked.js'

/** Elements from a template. Values are text or other elements, never markup. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode

/** The state of the page: its question, typed texts that were not sent, and the answers. Draws after each change. */
export class Page {
  readonly first: PageStart
  readonly answers: Answers
  asked: Asked
  /** Texts of boxes that were not sent. */
  readonly typed = new Map<string, string>()
  readonly #render: (page: Page) => void
  #isDrawScheduled = false
  /** Counts the questions that did not come from the page's own boxes. */
  visit = 0

  constructor(first: PageStart, draw: (page: Page) => void) {
    this.first = first
    this.asked = this.#withTicker(questionFromSearch(location.search))
    this.#render = draw
    this.answers = new Answers(() => this.scheduleDraw())
    addEventListener('popstate', () => {
      this.visit++
      this.#setQuestion(questionFromSearch(location.search))
    })
    this.scheduleDraw()
  }

  /** Asks another question. The browser can go back to the one before. */
  ask(other: Partial<Asked>): void {
    // An event belongs to its ticker and its band.
    const asked = { ...this.asked, ...(changesSubject(other) && { date: '' }), ...other }
    const search = searchFromQuestion(asked)
    if (search !== location.search) history.pushState(null, '', search || location.pathname)
    this.#setQuestion(asked)
  }

  /** The text of a box: as it was typed, or as it is in the question. */
  text(name: keyof Asked): string {
    return this.typed.get(name) ?? this.asked[name]
  }

  /** Draws the page after the running task, once for all changes that it makes. */
  scheduleDraw(): void {
    if (this.#isDrawScheduled) return
    this.#isDrawScheduled = true
    queueMicrotask(() => {
      this.#isDrawScheduled = false
      this.#render(this)
    })
  }

  #setQuestion(asked: Asked): void {
    this.asked = this.#withTicker(asked)
    this.typed.clear()
    this.scheduleDraw()
  }

  #withTicker(asked: Asked): Asked {
    const { tickers } = this.first
    return asked.ticker !== '' ? asked : { ...asked, ticker: tickers.includes('AAPL') ? 'AAPL' : (tickers[0] ?? '') }
  }
}

const SUBJECT = ['ticker', 'field', 'band', 'when'] as const

function changesSubject(other: Partial<Asked>): boolean {
  return SUBJECT.some(name => name in other)
}
