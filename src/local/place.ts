import { Busy } from '../errors.js'
import type { Store, Writer } from '../store/store.js'

/** How often the writing place is looked at while another holds it, in milliseconds. */
const AGAIN = 200

/** Takes a store's one writing place. Throws Busy naming the holder, or with `wait` stays until it is free. */
export async function takePlace(store: Store, writer: Writer, { wait = false } = {}): Promise<void> {
  for (;;) {
    try {
      return await store.lock(writer)
    } catch (error) {
      if (!(wait && error instanceof Busy)) throw error
      await new Promise(resolve => setTimeout(resolve, AGAIN))
    }
  }
}
