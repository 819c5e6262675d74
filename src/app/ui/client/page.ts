import htm from 'htm'
import { h, type VNode } from 'preact'
import type { PageStart } from '../page.js'
import { Answers } from './answers.js'
import { type PageQuestion, questionFromSearch, searchFromQuestion } from './question.js'

/** Elements from a template. Values are text or other elements, never markup. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode

/** The state of the page: its question, texts typed into boxes and not sent, and answers. Draws after each change. */
export class Page {
  readonly start: PageStart
  readonly answers: Answers
  question: PageQuestion
  readonly typed = new Map<string, string>()
  readonly #render: (page: Page) => void
  #isDrawScheduled = false
  /** Counts the moves back and forward in the browser, after which the boxes are filled in anew. */
  visit = 0

  constructor(start: PageStart, draw: (page: Page) => void) {
    this.start = start
    this.question = this.#withTicker(questionFromSearch(location.search))
    this.#render = draw
    this.answers = new Answers(() => this.scheduleDraw())
    addEventListener('popstate', () => {
      this.visit++
      this.#setQuestion(questionFromSearch(location.search))
    })
    this.scheduleDraw()
  }

  /** Asks a question that differs in some parts. The browser can go back to the one before. */
  ask(changes: Partial<PageQuestion>): void {
    const question = { ...this.question, ...changes }
    // The chosen event belongs to its ticker and its band.
    if (SUBJECT.some(name => name in changes)) question.date = changes.date ?? ''
    const search = searchFromQuestion(question)
    if (search !== location.search) history.pushState(null, '', search || location.pathname)
    this.#setQuestion(question)
  }

  /** The text of a box: as it was typed, or as it is in the question. */
  text(name: keyof PageQuestion): string {
    return this.typed.get(name) ?? this.question[name]
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

  /** Replaces the question, and draws the page; a question without a ticker gets one. */
  #setQuestion(question: PageQuestion): void {
    this.question = this.#withTicker(question)
    this.typed.clear()
    this.scheduleDraw()
  }

  /** The question with AAPL or the first ticker, if it names none. */
  #withTicker(question: PageQuestion): PageQuestion {
    const { tickers } = this.start
    if (question.ticker !== '') return question
    return { ...question, ticker: tickers.includes('AAPL') ? 'AAPL' : (tickers[0] ?? '') }
  }
}

const SUBJECT = ['ticker', 'field', 'band', 'when'] as const
