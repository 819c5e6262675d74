/** Questions under way at once: enough to hide a server's latency, few enough not to trip its limits. */
const WIDTH = 8

/**
 * Asks every item, at most eight at a time; answers in the order of the items, so that the same question has the same
 * answer, or the same error, whichever came first. Nothing more is asked after an error, or once nobody listens.
 */
export async function* ahead<Item, Found>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Found>,
): AsyncGenerator<Found> {
  const asked: Promise<Found>[] = []
  let next = 0
  const fill = (): void => {
    while (next < items.length && asked.length < WIDTH) {
      const one = ask(items[next++]!)
      // Those before it are answered first; nothing after it is.
      one.catch(() => {
        next = items.length
      })
      asked.push(one)
    }
  }
  try {
    for (fill(); asked.length > 0; fill()) {
      const found = await asked[0]!
      asked.shift()
      yield found
    }
  } finally {
    await Promise.allSettled(asked)
  }
}
