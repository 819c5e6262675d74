import { openImporter } from '../../src/app/open/writing.js'
import { simulatedTickers } from '../../src/data/simulate/simulate.js'
import { sourced } from '../support/store.js'

/** Imports two groups of tickers into a new database, and stops within the second until it is killed. */
const [db = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const importer = await openImporter({ db, env: {} })
  const tickers = [...simulatedTickers({ count: 210, bars: 3, seed: 6, end: 17_000 })]
  await importer.put(tickers.map(sourced), {
    onProgress: ({ stage, done }) => {
      if (stage !== 'deriving' || done < 205) return
      process.stdout.write('under way\n')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    },
  })
}

void main()
