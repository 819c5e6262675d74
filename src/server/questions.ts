import type { Bands } from '../bands.js'
import type { EventsParams } from '../model/query.js'
import { eventsCost, OVERSOLD_COST } from '../policy/credits.js'
import { parseOversold } from '../query/oversold.js'
import { parseEvents } from '../query/parse.js'
import { parametersOf } from '../query/url.js'
import { EVENTS_PATH, OVERSOLD_PATH } from '../wire/headers.js'

/** What a URL asks, understood. */
export interface Question {
  credits: number
  /** The same for every spelling of the same question. */
  normal: string
  /** The page that answers it. */
  ask(bands: Bands): Promise<object>
}

/** Path → how its query is read. Reading throws InvalidParameter. */
export const QUESTIONS: ReadonlyMap<string, (search: string) => Question> = new Map([
  [EVENTS_PATH, events],
  [OVERSOLD_PATH, oversold],
])

function events(search: string): Question {
  const query = parseEvents(parametersOf(search) as unknown as EventsParams)
  return { credits: eventsCost(query), normal: normalOf(EVENTS_PATH, query), ask: bands => bands.events(query) }
}

function oversold(search: string): Question {
  const query = parseOversold(parametersOf(search))
  return { credits: OVERSOLD_COST, normal: normalOf(OVERSOLD_PATH, query), ask: bands => bands.oversold(query) }
}

/** Parsers put the values of a query in one order, whatever the order in which they were given. */
function normalOf(path: string, query: object): string {
  return `${path} ${JSON.stringify(query)}`
}
