import { builtText } from '../built.js'
import { BUILT_IN_FIELDS } from '../fields/index.js'
import { INDICATORS } from '../fields/panel.js'
import { EVENT_COLUMNS, WINDOW_PREFIX } from '../model/event.js'
import { BAR_FIGURES } from '../model/series.js'
import { TIMEFRAME_NAMES, TIMEFRAMES, windowNames } from '../model/terms.js'

/** Names that a user's own field cannot have: it would replace a field, a column or a key of an answer. */

/** Why a field cannot have this name, as the rest of a sentence; undefined if it can. */
export function whyFieldReserved(name: string): string | undefined {
  const reason = whyListReserved(name)
  if (reason !== undefined) return reason
  const answer = answersWithKeys().find(([, keys]) => keys.has(name))
  if (answer === undefined) return undefined
  const [title, keys] = answer
  return `is a key of the answer ${title}; it has ${[...keys].join(', ')}`
}

/** Why a band cannot have this name. It may have the name of a specified band, such as low, which is also a key. */
export function whyBandReserved(name: string): string | undefined {
  return BUILT_IN_FIELDS.all.some(({ bands }) => bands.includes(name)) ? undefined : whyListReserved(name)
}

/** Why a list of tickers cannot have this name. */
export function whyListReserved(name: string): string | undefined {
  if (BUILT_IN_FIELDS.named(name) !== undefined) return 'is a field of bands already'
  return COLUMNS.has(name) ? `is a column of the exports; they have ${[...COLUMNS].join(', ')}` : undefined
}

const WINDOWS = TIMEFRAME_NAMES.flatMap(windowNames)

const COLUMNS: ReadonlySet<string> = new Set([
  ...['ticker', 'timeframe', 'date', ...BAR_FIGURES],
  ...INDICATORS.map(([name]) => name),
  ...Object.values(EVENT_COLUMNS).flat(),
  ...TIMEFRAME_NAMES.map(name => TIMEFRAMES[name].duration),
  ...Object.values(WINDOW_PREFIX).flatMap(prefix => WINDOWS.map(window => prefix + window)),
])

type Answer = readonly [name: string, keys: ReadonlySet<string>]

/** The result of answersWithKeys(), made on first use. */
let answersCache: readonly Answer[] | undefined

/** The answers with all their keys, from the schemas that the build makes from their types. */
function answersWithKeys(): readonly Answer[] {
  answersCache ??= Object.entries(JSON.parse(builtText('schemas.json')) as object).map(([name, schema]): Answer => {
    const keys = new Set<string>()
    addKeys(schema, keys)
    return [name, keys]
  })
  return answersCache
}

/** Adds all keys of a JSON Schema and of the schemas in it. */
function addKeys(part: unknown, keys: Set<string>): void {
  if (typeof part !== 'object' || part === null) return
  const { properties } = part as { properties?: object }
  for (const key of Object.keys(properties ?? {})) keys.add(key)
  for (const below of Object.values(part)) addKeys(below, keys)
}
