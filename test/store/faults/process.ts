import { cpSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { begin, broken, WORKS } from './works.js'

/**
 * Does each work again and again, while one system call after the other fails, and tells in lines of JSON what was found
 * amiss; the last line counts what was done. A program of its own, because the calls of a whole process fail.
 *
 * Words: folder below which calls fail, control file (faults.c), works (`all`, or names apart by commas), and how many
 * places of each kind of call are tried at most.
 */
const [folder = '', control = '', names = 'all', most = '0'] = process.argv.slice(2)

const KINDS = ['write', 'sync', 'read', 'truncate'] as const
const EIO = 5
const ENOSPC = 28
const shared = openSync(control, 'r+')

/** Lets calls of a kind fail from one on: so many, or all (0). */
function arm(kind: number, first: number, number: number, error: number): void {
  writeSync(shared, Buffer.from(Int32Array.of(0, first, number, error, 0, 0, 0).buffer), 0, 28, 0)
  writeSync(shared, Buffer.from(Int32Array.of(kind).buffer), 0, 4, 0)
}

/** Lets none fail any more; how many did. */
function disarm(): number {
  writeSync(shared, Buffer.alloc(4), 0, 4, 0)
  const told = new Int32Array(7)
  readSync(shared, told, 0, 28, 0)
  return told[5]!
}

function tell(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

async function main(): Promise<void> {
  const base = join(folder, 'base')
  const at = join(folder, 'at')
  mkdirSync(base)
  await begin(base)
  const works = WORKS.filter(({ name }) => names === 'all' || names.split(',').includes(name))
  const counts = { runs: 0, failed: 0, refused: 0 }
  for (const work of works) {
    const ready = join(folder, 'ready')
    rmSync(ready, { recursive: true, force: true })
    cpSync(base, ready, { recursive: true })
    const { fresh, amiss } = await broken(work, ready, at)
    for (const [i, kind] of KINDS.entries()) {
      for (const number of [1, 0]) {
        for (const first of placesUpTo(Number(most))) {
          fresh()
          arm(i + 1, first, number, number === 0 && kind === 'write' ? ENOSPC : EIO)
          const error = await work.run(at).then(
            () => null,
            (thrown: unknown) => thrown,
          )
          const failed = disarm()
          if (failed === 0) break
          counts.runs++
          counts.failed += failed
          if (error !== null) counts.refused++
          const where = `${work.name}: ${kind} ${first}${number === 0 ? ' and all after it' : ''}`
          for (const what of await amiss(error)) tell({ where, amiss: what })
        }
      }
    }
  }
  tell(counts)
}

/** The first ones, and then fewer and fewer of them, so many in all. */
function placesUpTo(most: number): number[] {
  const places: number[] = []
  for (let place = 1; places.length < most; place = Math.max(place + 1, Math.floor(place * 1.4))) places.push(place)
  return places
}

void main()
