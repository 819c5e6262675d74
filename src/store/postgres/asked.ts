import { parseDay } from '../../model/day.js'
import { TIMEFRAME_NAMES } from '../../model/terms.js'
import { isSoundEntry, oneField, partsFor, recordedIn } from '../checked.js'
import { type SeriesName, unsettledIn } from '../content.js'
import { lent, nameOf } from '../remembered.js'
import type { Store } from '../store.js'
import { findLooking, type Look, lookAt, type Reading } from './read.js'

type Looking = Awaited<ReturnType<typeof findLooking>>

/**
 * A store as one question sees it. Whatever the question asks of the whole store is told by one look, which is a statement
 * by itself, or a part of that which reads a series; a question that begins later looks anew.
 * @param series is read with the first look
 */
export function inOneQuestion(store: Store, reading: () => Reading, series?: SeriesName): Store {
  let look: Promise<Look> | null = null
  const read = new Map<string, Promise<Looking>>()

  /** A series is read once, whatever fields are asked for; the look that comes with it counts from then on. */
  const looking = (name: SeriesName): Promise<Looking> => {
    const { ticker, timeframe } = name
    const known = read.get(nameOf(name))
    if (known !== undefined) return known
    const found = findLooking(reading(), ticker, timeframe, partsFor(ONE_FIELD))
    read.set(nameOf(name), found)
    look = found.then(both => both.look)
    // Whoever reads the series is told.
    look.catch(() => {})
    return found
  }

  const seen = (): Promise<Look> => {
    look ??= series === undefined ? lookAt(reading()) : looking(series).then(found => found.look)
    return look
  }

  /** As far as was read: of a ticker with bars nothing is pulled. */
  const hasBars = async (ticker: string): Promise<boolean> => {
    await seen()
    for (const timeframe of TIMEFRAME_NAMES) {
      const known = await read.get(nameOf({ ticker, timeframe }))
      if (known?.found.entry !== undefined) return true
    }
    return false
  }

  const asked: Store = lent<Store>(store, {
    asked: () => asked,
    version: async () => (await seen()).version,
    definitions: async () => (await seen()).definitions ?? '',
    unsettled: async () => unsettledIn((await seen()).unsettled),
    async newestDay(upTo = Number.POSITIVE_INFINITY) {
      const { newest } = await seen()
      if (newest === undefined) return store.newestDay(upTo)
      if (newest === null) return null
      const last = isSoundEntry(newest) ? parseDay(newest.last) : null
      return last !== null && last <= upTo ? last : store.newestDay(upTo)
    },
    async recorded(ticker, timeframe, field) {
      const { found } = await looking({ ticker, timeframe })
      const query = { ...ONE_FIELD, fields: [field] }
      return oneField(recordedIn(store, found, query, found.unsettled), field)
    },
    async stamp(ticker, timeframe) {
      const known = await read.get(nameOf({ ticker, timeframe }))
      return known === undefined ? store.stamp(ticker, timeframe) : (known.found.series?.hash ?? null)
    },
    pages: lent(store.pages, { has: async ticker => !(await hasBars(ticker)) && store.pages.has(ticker) }),
  })
  return asked
}

/** What is read for any field. */
const ONE_FIELD = { fields: [''], outcomes: true }
