import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parameter, sentence, wrong } from '../../../core/errors.js'
import { count } from '../../../core/numbers.js'
import { integerOf } from '../../../core/params/kinds.js'
import { optional, optionsOf } from '../../../core/params/row.js'
import { fileValue } from '../../../core/params/values.js'
import { formatMegabytes } from '../../../data/store/sqlite/migrations.js'
import { restoredFilesOf } from '../../open/accounts.js'
import { filesOf } from '../../open/paths.js'
import type { Command } from '../command.js'
import { oneRowAnswer } from '../output.js'
import { ACCOUNTS_FILE, hasAccountsElsewhere } from './accounts.js'

const KEEP = { keep: optional(integerOf(1, 10_000), 'among the backups of this database: keep the newest N') }

const backup: Command = {
  arguments: [
    ['<FOLDER>', 'the new folder; an existing one, or one with a slash, gets a backup named by database and time'],
  ],
  options: [...optionsOf(KEEP), ...optionsOf(ACCOUNTS_FILE)],
  examples: ['bands backup before-the-update', 'bands backup /backups/ --keep 7'],
  notes: [
    'Copies data, accounts, the trial log and the watch lists as of one moment, also while a server or an import writes them. Each copy is compared row by row and verified before the backup gets its name; a damaged database is not backed up. Only you can read the folder, because the accounts are in it. It holds SQLite files and manifest.json with their hashes.',
    'A copy by cp is not a backup: the last commits are in a file next to the database, and are lost without a warning.',
  ],
  /** Copies the databases of the user into the named folder, or into a new folder in it; shows what was copied. */
  async run(context, args) {
    context.refuseRemote()
    const target = fileValue('folder', args.argument(0)!)
    const { keep } = args.read(KEEP)
    const files = restoredFilesOf({ ...context.databaseChoice, ...args.read(ACCOUNTS_FILE) })
    const path = resolve(target)
    const { backUp, backUpInto, isBackup } = await import('../../backup/backup.js')
    const isFolderOfBackups =
      !isBackup(path) && (target.endsWith('/') || (existsSync(path) && statSync(path).isDirectory()))
    if (keep !== undefined && !isFolderOfBackups) {
      const words = sentence`${parameter('keep')} is for a folder of backups, and ${target} is not one; end it with a slash to make one.`
      throw wrong('keep', words)
    }
    const now = context.world.now()
    const result = isFolderOfBackups
      ? await backUpInto(files, path, { keep: keep ?? null, now })
      : { folder: path, manifest: await backUp(files, path, now), removed: [] }
    const { folder, manifest, removed } = result
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
    const kinds = manifest.files.map(({ kind }) => kind)
    const row = { schema: 'bands.backup/2', folder, made: manifest.made, bytes, files: kinds, removed }
    const removedNotes = removed.length === 0 ? [] : [`removed ${count(removed.length, 'older backup')}`]
    const size = bytes < 500_000 ? `${Math.ceil(bytes / 1000)} kB` : formatMegabytes(bytes)
    const line = `backed up and checked: ${kinds.join(', ')} in ${folder} (${size})`
    await context.show(oneRowAnswer(row, [line, ...removedNotes]))
    if (hasAccountsElsewhere(context, args))
      await context.remark('the accounts in PostgreSQL (BANDS_ACCOUNTS) are not in it; pg_dump copies them.')
  },
}

const restore: Command = {
  arguments: [['<FOLDER>', 'a folder that bands backup has made']],
  options: [['--replace', 'replace the existing files'], ...optionsOf(ACCOUNTS_FILE)],
  examples: [
    'bands restore before-the-update',
    'bands restore before-the-update --replace',
    'bands restore before-the-update --db other.db',
  ],
  notes: [
    'Restores all of its files, or none: each is copied and checked next to the file that it replaces, then all are renamed. Stop servers and imports first: while one has a file open, nothing is restored.',
  ],
  /** Replaces the databases of the user by those of a backup, and shows which were replaced. */
  async run(context, args) {
    context.refuseRemote()
    const from = resolve(fileValue('folder', args.argument(0)!))
    const files = filesOf({ ...context.databaseChoice, ...args.read(ACCOUNTS_FILE) })
    const { restore } = await import('../../backup/restore.js')
    const restored = await restore(from, files, {
      replace: args.flag('replace'),
      notice: context.databaseChoice.notice,
    })
    const { made, bands } = restored.manifest
    const paths = restored.files.map(({ path }) => path)
    const row = { schema: 'bands.restore/2', folder: from, made, bands, restored: paths, kept: restored.kept }
    const lines = restored.files.map(({ path, replaced }) => `${path}${replaced ? ', which replaces the old one' : ''}`)
    const keptLines = restored.kept.map(path => `${path} is not in the backup and stays as it is`)
    await context.show(oneRowAnswer(row, [`restored as of ${made}:`, ...lines, ...keptLines]))
  },
}

export const commands = { backup, restore }
