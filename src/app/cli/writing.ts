import { existsSync } from 'node:fs'
import { count } from '../../core/numbers.js'
import type { Importer } from '../../data/load/import.js'
import { databasePath, noDatabase } from '../open/paths.js'
import { openImporter, openPuller, type Puller } from '../open/writing.js'
import type { Context } from './context.js'

/** Opens the database for commands that write. Other commands never load the code that reads files. */

/** The option of every command that writes. */
export const WAIT = ['--wait', 'wait while another process is writing'] as const

/**
 * The database for writing. Throws NotFound if it is missing, unless `make` is set. Throws Busy while another process
 * writes to it.
 */
export async function openForImport(context: Context, { wait = false, make = false } = {}): Promise<Importer> {
  context.refuseRemote()
  const { databaseChoice } = context
  const path = databasePath(databaseChoice)
  if (!make && !existsSync(path)) throw noDatabase(path)
  return closeAndReport(context, await openImporter({ ...databaseChoice, wait }))
}

/** The database for pulled events, made if missing. Throws Busy if another process writes to it. */
export async function openForPull(context: Context, { wait = false } = {}): Promise<Puller> {
  return closeAndReport(context, await openPuller({ ...context.databaseChoice, wait, now: () => context.world.now() }))
}

/** Closes a writer when the run ends, and then says if it finished the work of a killed import. Returns the writer. */
function closeAndReport<Writer extends Pick<Puller, 'close' | 'finished'>>(context: Context, writer: Writer): Writer {
  const close = async (): Promise<void> => {
    await writer.close()
    if (writer.finished === null) return
    const { tickers, sectors, since } = writer.finished
    const from = since === null ? '' : `, waiting since ${since}`
    const what = `${count(tickers, 'ticker')} and ${count(sectors, 'sector')}${from}`
    await context.remark(`finished what a killed import had left: derived the fields of ${what}.`)
  }
  context.closeAtEnd({ close })
  return writer
}
