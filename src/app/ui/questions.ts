import type { Done, Handler } from '../../data/threads.js'
import { type BandsClient, type BandsOptions, openBands } from '../client.js'

/** One question that the page may ask: a function of the library with the same parameters and the same answer. */
interface Question {
  /** It may take seconds, and is answered in a thread. */
  long?: true
  ask(bands: BandsClient, params: never): unknown
}

const QUESTIONS: Readonly<Record<string, Question>> = {
  fields: {
    ask: bands => bands.fields().map(({ name, bands: words, summary }) => ({ name, bands: words, summary })),
  },
  conditions: { ask: bands => bands.conditions() },
  tickers: { ask: bands => bands.tickers() },
  bars: { ask: (bands, params) => listed(bands.exportBars(params)) },
  history: { ask: (bands, params) => bands.history(params) },
  now: { ask: (bands, params) => bands.now(params) },
  tally: { ask: (bands, params) => bands.tally(params) },
  explain: { ask: (bands, params) => bands.explain(params) },
  screen: { long: true, ask: (bands, params) => bands.screen(params) },
  changes: { long: true, ask: (bands, params) => bands.changes(params) },
}

/** Throws nothing for an unknown name: it is null. */
export function questionNamed(name: string): Question | null {
  return Object.hasOwn(QUESTIONS, name) ? QUESTIONS[name]! : null
}

async function listed<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const list: Row[] = []
  for await (const row of rows) list.push(row)
  return list
}

export interface AskTask {
  name: string
  params: object
}

/** Answers long questions in a thread, each as JSON. */
export function begin(options: BandsOptions): Handler {
  let opened: Promise<BandsClient> | null = null
  return {
    async answer({ name, params }: AskTask): Promise<Done<string>> {
      opened ??= openBands(options)
      opened.catch(() => {
        opened = null
      })
      return { result: await answered(await opened, name, params) }
    },
  }
}

/** The answer to a question as JSON. */
export async function answered(bands: BandsClient, name: string, params: object): Promise<string> {
  return JSON.stringify(await questionNamed(name)!.ask(bands, params as never))
}
