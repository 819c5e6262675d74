import { version } from '../../core/built.js'
import { formatDay } from '../../core/model/day.js'
import { Threads } from '../../data/threads.js'
import type { BandsClient, BandsOptions } from '../client.js'
import { describeTallyPage } from '../present/tally.js'
import { leadOf } from '../report/report.js'
import type { First } from './page.js'
import { type AskTask, answered, questionNamed } from './questions.js'

/** Answers the questions of the page: short ones here, and long ones in a thread, so that short ones never wait. */
export class Answers {
  readonly #bands: BandsClient
  readonly #sample: boolean
  readonly #market: Threads<AskTask, string>

  /** @param options open the same data in a thread */
  constructor(bands: BandsClient, { sample, options }: { sample: boolean; options: BandsOptions }) {
    this.#bands = bands
    this.#sample = sample
    this.#market = new Threads('ask', options, 1)
  }

  /** Starts the thread, so that its first question does not wait for that. */
  warm(): void {
    this.#market.run({ name: 'fields', params: {} }).catch(() => {})
  }

  knows(name: string): boolean {
    return questionNamed(name) !== null
  }

  /** The answer as JSON. Throws as the function of the library does. */
  ask(name: string, params: object): Promise<string> {
    return questionNamed(name)?.long ? this.#market.run({ name, params }) : answered(this.#bands, name, params)
  }

  /** The answer of a tally in a sentence, a picture and tables. */
  async drawTally(params: object): Promise<string> {
    return leadOf(describeTallyPage(await this.#bands.tally(params as never)))
  }

  async first(): Promise<First> {
    const tickers = await this.#bands.tickers()
    const newest = Math.max(...tickers.map(({ last }) => last))
    return {
      version: version(),
      as_of: tickers.length === 0 ? null : formatDay(newest),
      tickers: tickers.map(({ ticker }) => ticker),
      sample: this.#sample,
      fields: this.#bands.fields().map(({ name, bands, summary }) => ({ name, bands, summary })),
    }
  }

  async close(): Promise<void> {
    await this.#market.close()
    await this.#bands.close()
  }
}
