import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSqlite } from '../../src/data/store/sqlite/data.js'
import { BARS, expectEnd, expectRefusal, scratch, typed } from './support/run.js'

const folder = scratch()

async function loaded(name: string): Promise<string> {
  const db = folder.file(name)
  await typed(`import ${BARS}/AAPL.csv --db ${db}`)
  return db
}

test('bands backup makes one checked folder, and bands restore puts it back and says so', async () => {
  const db = await loaded('one.db')
  await typed(`accounts create alice --tier free --db ${db}`)
  const file = folder.file('one')
  const made = await typed(`backup ${file} --db ${db} --json`)
  expect([made.code, made.err]).toEqual([0, ''])
  expect(JSON.parse(made.out)).toEqual({
    schema: 'bands.backup/2',
    folder: file,
    made: '2026-01-01T00:00:00.000Z',
    ...{
      bytes: bytes(`${file}/bands.db`) + bytes(`${file}/bands.accounts.db`),
      files: ['data', 'accounts'],
      removed: [],
    },
  })
  // A shell completes the name with a slash.
  for (const name of [file, `${file}/`])
    expectRefusal(
      await typed(`backup ${name} --db ${db}`),
      2,
      `${file} is there already, and a backup replaces nothing`,
    )
  expect((await typed(`backup ${file}-2 --db ${db}`)).out).toMatch(
    /^backed up and checked: data, accounts in \S+one-2 \(\d+ kB\)\n$/,
  )
  const before = (await typed(`events AAPL rsi_zone --json --db ${db}`)).out
  await typed(`remove AAPL --db ${db}`)
  expectRefusal(await typed(`restore ${file} --db ${db}`), 2, '--replace puts the backup in its place')
  expect((await typed(`restore ${file} --db ${db}`)).err).toContain(`try:   bands restore ${file} --db ${db} --replace`)
  const restored = await typed(`restore ${file} --replace --db ${db}`)
  expect(restored.code).toBe(0)
  expect(restored.out).toContain('restored as of 2026-01-01T00:00:00.000Z:')
  expect(restored.out).toContain(`${db}, which replaces the old one`)
  expect((await typed(`events AAPL rsi_zone --json --db ${db}`)).out).toBe(before)
  const other = folder.file('other.db')
  expect((await typed(`restore ${file} --db ${other}`)).code).toBe(0)
  expect((await typed(`accounts list --csv --db ${other}`)).out).toContain('alice')
})

test('bands backup into a folder names backups by time and limits their number', async () => {
  const db = await loaded('many.db')
  const backups = folder.file('backups')
  for (let i = 0; i < 3; i++) {
    const ran = await typed(`backup ${backups}/ --keep 1 --db ${db}`, { pace: 1_000 * (i + 1) })
    expect(ran.code, ran.err).toBe(0)
  }
  expect(readdirSync(backups)).toHaveLength(1)
  expect(readdirSync(backups)[0]).toMatch(/^many-20260101T0000\d\d\.000Z$/)
  const parent = '--keep is for a folder of backups'
  expectRefusal(await typed(`backup ${folder.file('x')} --keep 1 --db ${db}`), 2, parent)
  expectRefusal(await typed(`backup ${backups}/${readdirSync(backups)[0]} --keep 1 --db ${db}`), 2, parent)
})

test('bands backup gives the size of a small one in kB', async () => {
  const own = `--db ${folder.file('small.db')}`
  await typed(`accounts create alice --tier free ${own}`)
  expect((await typed(`backup ${folder.file('small-copy')} ${own}`)).out).toMatch(/^backed up .* \(\d+ kB\)\n$/)
})

test('neither does half of it: no database, a damaged one, no backup, one that is open elsewhere', async () => {
  const backup = folder.file('none')
  expectEnd(await typed(`backup ${backup} --db ${folder.file('missing.db')}`), 3, 'there is nothing to back up')
  expectEnd(await typed(`restore ${backup} --db ${folder.file('missing.db')}`), 3, `there is no folder ${backup}`)
  const file = folder.file('bars.csv')
  writeFileSync(file, 'a,b\n1,2\n')
  expectEnd(await typed(`restore ${file} --db ${folder.file('missing.db')}`), 5, 'a backup is a folder')
  const db = await loaded('held.db')
  await typed(`backup ${backup} --db ${db}`)
  const store = openSqlite(db, { readonly: false })
  await store.lock({ pid: process.pid, host: 'here', started: '2026-01-01T00:00:00Z' })
  expectEnd(await typed(`restore ${backup} --replace --db ${db}`), 8, 'is being written by another process')
  await store.close()
  const lost = { note: `${db}.restore`, from: `${db}.1-0123456789ab-x.new`, to: db, sha256: '' }
  writeFileSync(lost.note, JSON.stringify({ commit: lost.note, moves: [lost] }))
  expectEnd(await typed(`backup ${backup}-2 --db ${db}`), 6, 'was stopped before its end')
  rmSync(lost.note)
  expectEnd(await typed(`backup ${join(folder.file('held.db'), 'x')} --db ${db}`), 6, 'cannot back up to')
})

function bytes(path: string): number {
  return statSync(path).size
}
