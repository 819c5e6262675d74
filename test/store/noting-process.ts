import { openSqliteTrials } from '../../src/data/store/sqlite/lists.js'

/**
 * A study's part in noting trials, as a process of its own: 40 runs of ten cells, five of its own, and five that every
 * such process notes. Words: path of the ledger, name of the process.
 */
const [path = '', own = ''] = process.argv.slice(2)

async function main(): Promise<void> {
  const trials = openSqliteTrials(path)
  for (let run = 0; run < 40; run++) {
    const cells = Array.from({ length: 10 }, (_, n) => {
      const spec = `${n < 5 ? own : '0'}${String(5 * run + (n % 5)).padStart(4, '0')}`
      return { hash: spec.padStart(64, '0'), spec, p: null, test: null, sharpe: null }
    })
    await trials.note('cell', cells)
  }
  await trials.close()
}

void main()
