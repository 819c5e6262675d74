/** Questions under way at once: enough to hide a server's latency, few enough not to trip its limits. */
const WIDTH = 8

/**
 * Asks every item, at most eight at a time; results in the order of the items. When some fail, throws the error of the
 * first of them in that order, whichever failed earliest, so that the same question has the same answer.
 */
export async function concurrently<Item, Result>(
  items: readonly Item[],
  ask: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = new Array(items.length)
  const failures: { at: number; error: unknown }[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const at = next++
      try {
        results[at] = await ask(items[at]!)
      } catch (error) {
        failures.push({ at, error })
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(WIDTH, items.length) }, worker))
  const [first] = failures.sort((a, b) => a.at - b.at)
  if (first !== undefined) throw first.error
  return results
}
