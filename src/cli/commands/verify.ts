import { BadData, StorageError } from '../../errors.js'
import { verify } from '../../local/verify.js'
import { databasePath } from '../../open.js'
import { count } from '../../present/numbers.js'
import type { Damage } from '../../store/store.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { tableOf } from '../draw/table.js'

export const command: Command = {
  options: [['--deep', 'derive every event again from the bars, and compare']],
  examples: ['bands verify', 'bands verify --deep --json'],
  notes: ['Exits with 5 when something is not as it was written.'],
  async run(context, given) {
    const deep = given.flag('deep')
    const { tickers, damages } = await readable(context, () => checkedIn(context, deep))
    const rows = damages.map(({ ticker, what }) => ({ ticker, what }))
    const checked = `${count(tickers, 'ticker')} checked${deep ? ', every event derived again' : ''}`
    await context.show({
      document: () => ({ schema: 'bands.verify/1', database: context.opened!.path, tickers, deep, damages: rows }),
      columns: ['ticker', 'what'],
      rows: () => rows,
      blocks: () => [
        {
          table: tableOf(rows, [
            ['TICKER', row => row.ticker],
            ['DAMAGE', row => row.what],
          ]),
          notes: [`${checked}: ${rows.length === 0 ? 'all as it was written' : count(rows.length, 'damage')}`],
        },
      ],
    })
    if (rows.length > 0) context.outcome = 5
  },
}

async function checkedIn(context: Context, deep: boolean): Promise<{ tickers: number; damages: Damage[] }> {
  const { local, bands } = await context.here()
  const damages = await verify(local, { deep })
  return { tickers: (await bands.tickers()).length, damages }
}

/** A file that SQLite itself finds damaged is what a verification is there to find, no fault of the machine. */
async function readable<T>({ config, world }: Context, check: () => Promise<T>): Promise<T> {
  try {
    return await check()
  } catch (error) {
    const { code, message } = ((error as Error).cause ?? {}) as { code?: unknown; message?: string }
    const corrupt = typeof code === 'string' && (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB')
    if (!(error instanceof StorageError) || !corrupt) throw error
    const file = databasePath({ db: config.db, env: world.env })
    throw new BadData({ file }, `${message}; import the files again into a new database`, { cause: error })
  }
}
