import type { Done, Handler } from '../../data/threads.js'
import { type BandsClient, type BandsOptions, openBands } from '../client.js'
import type { PagedResult } from '../present/prices.js'

/** One question that the page may ask: a function of the library with the same parameters and the same answer. */
interface Question {
  /** It may take seconds, and is answered in a thread: `market` for an instant, `returns` also for minutes. */
  thread?: 'market' | 'returns'
  ask(bands: BandsClient, params: never): unknown
}

const QUESTIONS: Readonly<Record<string, Question>> = {
  fields: {
    ask: bands => bands.fields().map(({ name, bands: words, summary }) => ({ name, bands: words, summary })),
  },
  conditions: { ask: bands => bands.conditions() },
  tickers: { ask: bands => bands.tickers() },
  bars: { ask: (bands, params) => collect(bands.exportBars(params)) },
  history: { ask: (bands, params) => bands.history(params) },
  now: { ask: (bands, params) => bands.now(params) },
  tally: { ask: (bands, params) => bands.tally(params) },
  explain: { ask: (bands, params) => bands.explain(params) },
  screen: { thread: 'market', ask: (bands, params) => bands.screen(params) },
  changes: { thread: 'market', ask: (bands, params) => bands.changes(params) },
  study: { thread: 'returns', ask: (bands, params) => bands.study(params) },
  backtest: { thread: 'returns', ask: (bands, params) => bands.backtest(params) },
  grid: { thread: 'returns', ask: (bands, params) => bands.grid(params) },
  compare: { thread: 'returns', ask: (bands, params) => bands.compare(params) },
  sweep: { thread: 'returns', ask: (bands, params) => bands.sweep(params) },
}

/** The question with a name; null for an unknown name. */
export function findQuestion(name: string): Question | null {
  return Object.hasOwn(QUESTIONS, name) ? QUESTIONS[name]! : null
}

async function collect<Row>(rows: AsyncIterable<Row>): Promise<Row[]> {
  const list: Row[] = []
  for await (const row of rows) list.push(row)
  return list
}

export interface AskTask {
  name: string
  params: object
  isPage?: boolean
}

/** Answers long questions in a thread, each as JSON or a page. The data are opened once, and again after a failure. */
export function newQuestionHandler(options: BandsOptions): Handler {
  let opening: Promise<BandsClient> | null = null
  return {
    async answer({ name, params, isPage }: AskTask): Promise<Done<string>> {
      opening ??= openBands(options)
      opening.catch(() => {
        opening = null
      })
      const bands = await opening
      return { result: await (isPage ? answerAsReport(bands, name, params) : answerAsJson(bands, name, params)) }
    },
  }
}

export async function answerAsJson(bands: BandsClient, name: string, params: object): Promise<string> {
  return JSON.stringify(await findQuestion(name)!.ask(bands, params as never))
}

/** The answer to a question of returns as a report page, which names the question and its parameters. */
async function answerAsReport(bands: BandsClient, name: string, params: object): Promise<string> {
  const result = (await findQuestion(name)!.ask(bands, params as never)) as PagedResult
  const { tickers, ...others } = params as { tickers?: readonly string[] }
  const words = [name]
  if (tickers !== undefined) words.push(tickers.length > MOST_NAMED ? `${tickers.length} tickers` : tickers.join(' '))
  for (const [param, value] of Object.entries(others))
    words.push(`${param} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
  return bands.report(result, { command: `on the page: ${words.join(', ')}` })
}

const MOST_NAMED = 10
