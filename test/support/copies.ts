import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { FIELDS } from '../../src/fields/index.js'
import { recordsIn } from '../../src/model/series.js'
import { TIMEFRAME_NAMES } from '../../src/model/terms.js'
import type { Store } from '../../src/store/store.js'

/** All that a store answers, read as questions read it. */
export async function everythingIn(store: Store) {
  const names = await store.names()
  const tickers = []
  for (const ticker of names) {
    const series = []
    for (const timeframe of TIMEFRAME_NAMES) {
      const fields = FIELDS.map(({ name }) => name)
      for await (const found of store.series({ tickers: [ticker], timeframe, fields, outcomes: true }))
        series.push(found && { ...found, fields: recordsIn(found.fields) })
    }
    const pages = []
    for (const entry of await store.pages.entries(ticker)) pages.push(entry, await store.pages.series(entry))
    tickers.push({ ticker, bars: await store.bars(ticker), sheets: await store.sheets(ticker), series, pages })
  }
  return {
    tickers,
    names: [names, await store.names('bars'), await store.factTickers()],
    entries: await store.tickers(),
    summaries: await store.summaries(),
    securities: await store.securities(),
    unsettled: await store.unsettled(),
    definitions: await store.definitions(),
    run: await store.pages.run(),
    contents: (await store.contents()).map(content => JSON.stringify(content)).sort(),
    damages: await store.verify(),
  }
}

type Everything = Awaited<ReturnType<typeof everythingIn>>

/** That one store answers what another does. To look for where they differ takes seconds: it is done where they do. */
export function expectAlike(found: Everything, wanted: Everything): void {
  if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted)
}
