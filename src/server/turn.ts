/**
 * The same answer to all who ask in one turn of the event loop: requests that arrive together look together at what
 * may have changed since.
 */
export function oncePerTurn<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | null = null
  return () => {
    if (asked === null) {
      asked = ask()
      setImmediate(() => {
        asked = null
      })
    }
    return asked
  }
}
