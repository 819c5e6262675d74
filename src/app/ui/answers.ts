import { version } from '../../core/built.js'
import { formatDay } from '../../core/model/day.js'
import type { Written } from '../../core/params/row.js'
import { Threads } from '../../data/threads.js'
import type { BandsClient, BandsOptions } from '../client.js'
import { describeTallyPage } from '../present/tally.js'
import { leadHtml } from '../report/report.js'
import { forms } from './forms.js'
import { findListsAction, type ListsChoice } from './lists.js'
import type { PageStart } from './page.js'
import { type AskTask, answerAsJson, findQuestion } from './questions.js'

/** How the data of the page are opened. */
export interface Opening extends ListsChoice {
  sample: boolean
  /** Open the same data in a thread. */
  options: BandsOptions
}

/** The number of report pages that are kept: the newest ones. */
const MAX_PAGES = 20

/** Answers the questions of the page: short ones here, and long ones in threads, so that short ones never wait. */
export class Answers {
  readonly #bands: BandsClient
  readonly #opening: Opening
  readonly #marketThread: Threads<AskTask, string>
  #returnsThread: Threads<AskTask, string>
  readonly #pages = new Map<string, string>()
  #reportCount = 0

  constructor(bands: BandsClient, opening: Opening) {
    this.#bands = bands
    this.#opening = opening
    this.#marketThread = new Threads('ask', opening.options, 1)
    this.#returnsThread = new Threads('ask', opening.options, 1)
  }

  /** Starts the thread of market questions, so that the first one does not wait for that. */
  startThread(): void {
    this.#marketThread.run({ name: 'fields', params: {} }).catch(() => {})
  }

  hasQuestion(name: string): boolean {
    return findQuestion(name) !== null
  }

  /** The answer to a question of QUESTIONS as JSON. Throws as the function of the library does. */
  ask(name: string, params: object): Promise<string> {
    const thread = findQuestion(name)?.thread
    if (thread === undefined) return answerAsJson(this.#bands, name, params)
    return (thread === 'market' ? this.#marketThread : this.#returnsThread).run({ name, params })
  }

  /** Reads or changes the watch lists and named conditions; null for an unknown action. */
  runListsAction(action: string, params: object): Promise<unknown> | null {
    return findListsAction(action)?.(this.#opening, params as Written) ?? null
  }

  hasReport(name: string): boolean {
    return findQuestion(name)?.thread === 'returns'
  }

  /** Makes a report page, keeps it, and returns its number. Throws as the library does, and Busy when stopped. */
  async report(name: string, params: object): Promise<string> {
    const page = await this.#returnsThread.run({ name, params, isPage: true })
    const number = String(++this.#reportCount)
    this.#pages.set(number, page)
    const numbersToForget = [...this.#pages.keys()].slice(0, -MAX_PAGES)
    for (const oldNumber of numbersToForget) this.#pages.delete(oldNumber)
    return number
  }

  /** A report page by its number; null if it is no longer kept. */
  page(number: string): string | null {
    return this.#pages.get(number) ?? null
  }

  /** Ends all running studies, backtests and sweeps, and their thread; later ones get a new thread. */
  async stop(): Promise<void> {
    const threads = this.#returnsThread
    this.#returnsThread = new Threads('ask', this.#opening.options, 1)
    await threads.close()
  }

  /** The answer of a tally in a sentence, a picture and tables. */
  async drawTally(params: object): Promise<string> {
    return leadHtml(describeTallyPage(await this.#bands.tally(params as never)))
  }

  /** What the page shows before its first question. */
  async pageStart(): Promise<PageStart> {
    const tickers = await this.#bands.tickers()
    const newest = Math.max(...tickers.map(({ last }) => last))
    return {
      version: version(),
      as_of: tickers.length === 0 ? null : formatDay(newest),
      tickers: tickers.map(({ ticker }) => ticker),
      sample: this.#opening.sample,
      forms: forms(),
      fields: this.#bands.fields().map(({ name, bands, summary }) => ({ name, bands, summary })),
    }
  }

  async close(): Promise<void> {
    await this.#marketThread.close()
    await this.#returnsThread.close()
    await this.#bands.close()
  }
}
