import { statfsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FULL } from '../support/full.js'
import { remount, smallDisk, temporaryFolder } from '../support/store.js'
import { begin, broken, WORKS } from './faults/works.js'

describe('on a disk of 64 to 512 kB', () => {
  const works = WORKS.filter(({ name }) => FULL || ['create', 'import', 'schema step', 'restore'].includes(name))

  it.for(works)('$name is done or not, never half, and is done once there is room', async (work, { skip }) => {
    const disk = smallDisk('4m')
    if (disk === null) return skip('no disk of its own can be had here')
    const ready = temporaryFolder()
    await begin(ready)
    const at = join(disk, 'at')
    const { fresh, amiss } = await broken(work, ready, at)
    let refused = 0
    let fitted = 0
    // Where there is room enough three times over, more of it is the same.
    for (let kilobytes = 64; kilobytes <= 512 && fitted < 3; kilobytes += FULL ? 16 : 64) {
      fresh()
      // What is there already has its room, however small the disk.
      remount(disk, `size=${Math.max(kilobytes, usedIn(disk))}k`)
      const error = await work.run(at).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      remount(disk, 'size=4m')
      const where = `${kilobytes} kB: ${String(error)}`
      expect(await amiss(error), where).toEqual([])
      if (error !== null) refused++
      fitted = error === null ? fitted + 1 : 0
    }
    expect(refused).toBeGreaterThan(0)
  })
})

/** In kilobytes. */
function usedIn(disk: string): number {
  const { blocks, bfree, bsize } = statfsSync(disk)
  return ((blocks - bfree) * bsize) / 1024
}
