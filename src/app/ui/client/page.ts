import htm from 'htm'
import { h, type VNode } from 'preact'
import type { First } from '../page.js'
import { Answers } from './answers.js'
import { type Asked, askedIn, searchOf } from './asked.js'

/** Elements from a template. Values are text or other elements, never markup. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode

/** The page: its question, typed texts that were not sent, and the answers. */
export class Page {
  readonly first: First
  readonly answers: Answers
  asked: Asked
  /** Texts of boxes that were not sent. */
  readonly typed = new Map<string, string>()
  readonly #draw: (page: Page) => void
  #isDrawing = false
  /** Counts the questions that did not come from the page's own boxes. */
  visit = 0

  constructor(first: First, draw: (page: Page) => void) {
    this.first = first
    this.asked = this.#known(askedIn(location.search))
    this.#draw = draw
    this.answers = new Answers(() => this.draw())
    addEventListener('popstate', () => {
      this.visit++
      this.#take(askedIn(location.search))
    })
    this.draw()
  }

  /** Asks another question. The browser can go back to the one before. */
  ask(other: Partial<Asked>): void {
    // An event belongs to its ticker and its band.
    const asked = { ...this.asked, ...(isAboutOther(other) && { date: '' }), ...other }
    const search = searchOf(asked)
    if (search !== location.search) history.pushState(null, '', search || location.pathname)
    this.#take(asked)
  }

  /** The text of a box: as it was typed, or as it is in the question. */
  text(name: keyof Asked): string {
    return this.typed.get(name) ?? this.asked[name]
  }

  /** Draws once for all changes of a moment. */
  draw(): void {
    if (this.#isDrawing) return
    this.#isDrawing = true
    queueMicrotask(() => {
      this.#isDrawing = false
      this.#draw(this)
    })
  }

  #take(asked: Asked): void {
    this.asked = this.#known(asked)
    this.typed.clear()
    this.draw()
  }

  #known(asked: Asked): Asked {
    const { tickers } = this.first
    return asked.ticker !== '' ? asked : { ...asked, ticker: tickers.includes('AAPL') ? 'AAPL' : (tickers[0] ?? '') }
  }
}

const SUBJECT = ['ticker', 'field', 'band', 'when'] as const

function isAboutOther(other: Partial<Asked>): boolean {
  return SUBJECT.some(name => name in other)
}
