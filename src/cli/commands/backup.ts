import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { parameter, sentence, wrong } from '../../errors.js'
import { databasePath, filesOf, layoutOf, postgresUrl } from '../../open/where.js'
import { copyDatabase, settledFilesOf } from '../../open.js'
import { DATABASE, integerOf, WORDS } from '../../params/kinds.js'
import { itemsOf, needed, open, optionsOf } from '../../params/row.js'
import { fileValue } from '../../params/values.js'
import { count, whole } from '../../present/numbers.js'
import type { Amounts, CopyProgress } from '../../store/copy.js'
import { notAFile } from '../../store/opening.js'
import { megabytes } from '../../store/sqlite/migrations.js'
import type { Command } from '../command.js'
import type { Context } from '../context.js'
import { oneRow } from '../output.js'
import { ACCOUNTS_FILE, hasAccountsElsewhere } from './accounts.js'

const REPLACE = ['--replace', 'put it in the place of what there is'] as const

const KEEP = { keep: open(integerOf(1, 10_000), 'in a folder: how many backups of this database stay; the oldest go') }

/** What looks after a database that is no file here does it better. */
function refuseElsewhere(context: Context, what: string): void {
  context.refuseRemote()
  if (postgresUrl(context.choice) !== null)
    throw notAFile(what, 'pg_dump, pg_basebackup and pgBackRest are made for that (docs/scale-out.md)')
}

const backup: Command = {
  arguments: [['<FILE>', 'the backup to make; or a folder, in which it is named by database and time']],
  options: [...optionsOf(KEEP), REPLACE, ...optionsOf(ACCOUNTS_FILE)],
  examples: ['bands backup bands.tar', 'bands backup /backups/ --keep 7'],
  notes: [
    'Data, accounts, the ledger of trials and the watch lists as they stand at one moment, also while a server or an import writes them. The copies are compared row by row and read again before the backup has its name; of a damaged database none is made. It is a tar archive that only its owner can read: it holds the accounts.',
    'A copy by cp is none: what was committed last lies in a file beside the database, and is lost without a word.',
  ],
  async run(context, given) {
    refuseElsewhere(context, 'a backup')
    const target = fileValue('file', given.argument(0)!)
    const { keep } = given.read(KEEP)
    const files = await settledFilesOf({ ...context.choice, ...given.read(ACCOUNTS_FILE) })
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
    refuseElsewhere(context, 'a restore')
    const from = resolve(fileValue('file', given.argument(0)!))
    const files = filesOf({ ...context.choice, ...given.read(ACCOUNTS_FILE) })
    const { restore } = await import('../../store/sqlite/restore.js')
    const restored = await restore(from, files, { replace: given.flag('replace') })
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

const COPY = {
  from: open(DATABASE, 'what is copied: a file, or the URL of one of PostgreSQL; the database in use unless given'),
  to: needed(DATABASE, 'where it goes: the same; made if it is missing, otherwise empty'),
}

const copy: Command = {
  options: [
    ...optionsOf(COPY),
    ['--replace', 'put it in the place of what there is'],
    ['--wait', 'wait while another process is writing'],
  ],
  examples: [
    'bands store copy --from bands.db --to postgres://bands@db.example/bands',
    'bands store copy --from postgres://bands@db.example/bands --to bands.db',
  ],
  notes: [
    'From a file into PostgreSQL, back, or into another of the same kind: bars, facts, events, pulled pages, and what an import has yet to do. Nothing is derived again; packed columns go as they are, all of one moment, also while the source is written.',
    'What the target has already, by its hashes, is not sent again: a copy that was stopped goes on with the same line. Until it is through the target says that it is a part, and answers nothing. At the end all of the target is read again and every hash computed; what is damaged there is sent once more.',
    'Accounts, trials and watch lists lie beside the data, and are not copied; bands accounts copy moves the accounts.',
  ],
  async run(context, given) {
    context.refuseRemote()
    const { from, to } = given.read(COPY)
    const { choice } = context
    const [source, target] = [from === undefined ? choice : { ...choice, db: from }, { ...choice, db: to }]
    const paths = [source, target].map(databasePath)
    if (paths[0] === paths[1]) {
      const words = sentence`${parameter('to')} is ${paths[0]!}, which is what is to be copied; name another one.`
      throw wrong('to', words, { value: to })
    }
    const report = await copyDatabase(source, target, {
      replace: given.flag('replace'),
      wait: given.flag('wait'),
      onProgress: progress => context.step(() => progressText(progress)),
    })
    const { copied, there, removed, hashes } = report
    const gone = removed === 0 ? [] : [`removed: ${count(removed, 'ticker')} that ${report.from} has not`]
    await context.show(
      oneRow(
        { schema: 'bands.store-copy/1', from: report.from, to: report.to, ...flat(copied, there), removed, hashes },
        [
          `copied: ${amountsText(copied)}`,
          ...(there.tickers === 0 ? [] : [`there already: ${amountsText(there)}`]),
          ...gone,
          `${report.to}: ${count(hashes, 'hash', 'hashes')} computed again, all as in ${report.from}`,
        ],
      ),
    )
  },
}

const LAYOUT = {
  partitions: open(integerOf(1, 1024), 'make the tables, cut into so many partitions on this server'),
  shards: open(WORDS, 'make them with one partition on each of these foreign servers', { takes: 'NAMES' }),
}

const layout: Command = {
  options: optionsOf(LAYOUT),
  examples: [
    'bands store layout --partitions 8 --db postgres://bands@db.example/bands',
    'bands store layout --shards s1,s2,s3 --db postgres://bands@db.example/bands',
  ],
  notes: [
    'In PostgreSQL the tables may be cut by the ticker into hash partitions, on one server or on several. That is chosen when they are made; bands store copy moves data into another layout.',
    'Shards are databases on other servers, with whole tables (--partitions 1) and nothing in them, that CREATE SERVER has made known (postgres_fdw); docs/scale-out.md has the statements.',
  ],
  async run(context, given) {
    context.refuseRemote()
    const { partitions, shards } = given.read(LAYOUT)
    if (partitions !== undefined && shards !== undefined)
      throw wrong('shards', sentence`${parameter('partitions')} and ${parameter('shards')} exclude each other.`)
    const names = shards === undefined ? [] : itemsOf('shards', shards)
    const isAsked = partitions !== undefined || shards !== undefined
    const asked = { partitions: partitions ?? names.length, shards: names }
    const found = await layoutOf(context.choice, isAsked ? asked : undefined)
    const database = databasePath(context.choice)
    const on = found.shards.length === 0 ? '' : `, on ${found.shards.join(', ')}`
    const what = found.partitions === 1 && on === '' ? 'whole tables' : `${count(found.partitions, 'partition')}${on}`
    await context.show(
      oneRow(
        { schema: 'bands.store-layout/1', database, partitions: found.partitions, shards: found.shards.join(' ') },
        [`${database}: ${what}${isAsked ? ', made now, with nothing in them' : ''}`],
      ),
    )
  },
}

/** One row, as CSV has it. */
function flat(copied: Amounts, there: Amounts): Record<string, number> {
  const before = Object.entries(there).map(([what, amount]) => [`${what}_there`, amount])
  return { ...copied, ...Object.fromEntries(before) }
}

function amountsText({ tickers, bars, events, facts, pulled }: Amounts): string {
  const more = [
    ...(facts === 0 ? [] : [`${whole(facts)} facts`]),
    ...(pulled === 0 ? [] : [`${whole(pulled)} pulled events`]),
  ]
  return [count(tickers, 'ticker'), count(bars, 'bar'), count(events, 'event'), ...more].join(', ')
}

function progressText({ stage, done, of, bytes }: CopyProgress): string {
  return stage === 'verifying' ? `verifying  ${of} tickers` : `copying  ${done}/${of} tickers  ${megabytes(bytes)}`
}

export const commands = { backup, restore, 'store copy': copy, 'store layout': layout }
