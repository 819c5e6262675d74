import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parameter, sentence, wrong } from '../../errors.js'
import { filesOf } from '../../open/where.js'
import { restoredFilesOf } from '../../open.js'
import { integerOf } from '../../params/kinds.js'
import { open, optionsOf } from '../../params/row.js'
import { fileValue } from '../../params/values.js'
import { count } from '../../present/numbers.js'
import { megabytes } from '../../store/sqlite/migrations.js'
import type { Command } from '../command.js'
import { oneRow } from '../output.js'
import { ACCOUNTS_FILE, hasAccountsElsewhere } from './accounts.js'

const REPLACE = ['--replace', 'put it in the place of what there is'] as const

const KEEP = { keep: open(integerOf(1, 10_000), 'in a folder: how many backups of this database stay; the oldest go') }

const backup: Command = {
  arguments: [['<FILE>', 'the backup to make; or a folder, in which it is named by database and time']],
  options: [...optionsOf(KEEP), REPLACE, ...optionsOf(ACCOUNTS_FILE)],
  examples: ['bands backup bands.tar', 'bands backup /backups/ --keep 7'],
  notes: [
    'Data, accounts, the ledger of trials and the watch lists as they stand at one moment, also while a server or an import writes them. The copies are compared row by row and read again before the backup has its name; of a damaged database none is made. It is a tar archive that only its owner can read: it holds the accounts.',
    'A copy by cp is none: what was committed last lies in a file beside the database, and is lost without a word.',
  ],
  async run(context, given) {
    context.refuseRemote()
    const target = fileValue('file', given.argument(0)!)
    const { keep } = given.read(KEEP)
    const files = restoredFilesOf({ ...context.choice, ...given.read(ACCOUNTS_FILE) })
    const isFolder = target.endsWith('/') || (existsSync(target) && statSync(target).isDirectory())
    if (keep !== undefined && !isFolder) {
      const words = sentence`${parameter('keep')} counts the backups in a folder, and ${target} is none; end it with a slash to make one.`
      throw wrong('keep', words)
    }
    const { backUp, backUpInto } = await import('../../store/sqlite/backup.js')
    const now = context.world.now()
    const path = resolve(target)
    const made = isFolder
      ? await backUpInto(files, path, { keep: keep ?? null, now })
      : { file: path, manifest: await backUp(files, path, { replace: given.flag('replace'), now }), removed: [] }
    const { manifest, removed } = made
    const bytes = statSync(made.file).size
    const row = {
      schema: 'bands.backup/1',
      file: made.file,
      made: manifest.made,
      bytes,
      files: manifest.files.map(({ kind }) => kind),
      removed,
    }
    const what = `${manifest.files.map(({ kind }) => kind).join(', ')} in ${made.file} (${megabytes(bytes)})`
    const gone = removed.length === 0 ? [] : [`removed ${count(removed.length, 'older backup')}`]
    await context.show(oneRow(row, [`backed up and checked: ${what}`, ...gone]))
    if (hasAccountsElsewhere(context, given))
      await context.remark('the accounts in PostgreSQL (BANDS_ACCOUNTS) are not in it; pg_dump copies them.')
  },
}

const restore: Command = {
  arguments: [['<FILE>', 'a file that bands backup has made']],
  options: [REPLACE, ...optionsOf(ACCOUNTS_FILE)],
  examples: ['bands restore bands.tar', 'bands restore bands.tar --replace', 'bands restore bands.tar --db other.db'],
  notes: [
    'All of the files in it, or none: each is written beside the one that it replaces and checked, then all change places. Stop a server and wait for an import before: while one has a file open, nothing is restored.',
  ],
  async run(context, given) {
    context.refuseRemote()
    const from = resolve(fileValue('file', given.argument(0)!))
    const files = filesOf({ ...context.choice, ...given.read(ACCOUNTS_FILE) })
    const { restore } = await import('../../store/sqlite/restore.js')
    const restored = await restore(from, files, {
      replace: given.flag('replace'),
      notice: context.choice.notice,
    })
    const { made, bands } = restored.manifest
    const row = {
      schema: 'bands.restore/1',
      file: from,
      made,
      bands,
      restored: restored.files.map(({ path }) => path),
      kept: restored.kept,
    }
    const lines = restored.files.map(
      ({ path, replaced }) => `${path}${replaced ? ', in the place of what was there' : ''}`,
    )
    const others = restored.kept.map(path => `${path} is not in the backup and stays as it is`)
    await context.show(oneRow(row, [`restored as of ${made}:`, ...lines, ...others]))
  },
}

export const commands = { backup, restore }
