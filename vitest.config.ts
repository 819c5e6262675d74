import { accessSync, constants, statfsSync } from 'node:fs'
import { availableParallelism, freemem } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { FULL, NO_TEST_FILES, TEST_FILES } from './test/support/full.js'

/** Far away: a test that hangs is found, and one on a loaded machine is not taken for one. */
const PATIENCE = 600_000 * Math.max(1, Number(process.env.BANDS_FULL ?? 0))

/** Proofs take longest, the longest of them in these rooms, so that they begin first: no core is left alone with one at the end. */
const LONGEST = ['/test/levels/', '/test/store/']

class ProofsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const length = ({ moduleId }: TestSpecification): number =>
      moduleId.includes('.proof.') ? 1 + Number(LONGEST.some(room => moduleId.includes(room))) : 0
    return (await super.sort(files)).sort((a, b) => length(b) - length(a))
  }
}

/**
 * The files of tests lie in memory where there is room for them: they wait for no disk. What is proven of processes that are
 * killed is the same there; a container may have hardly any such memory, and a machine may need it for something else.
 */
const MEMORY = '/dev/shm'
if (process.env.TMPDIR === undefined && hasRoom(MEMORY)) process.env.TMPDIR = MEMORY

function hasRoom(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return Math.min(bavail * bsize, freemem()) > 8 * 2 ** 30
  } catch {
    return false
  }
}

export default defineConfig({
  test: {
    // How much is proven: see test/support/full.ts.
    include: TEST_FILES,
    exclude: [...configDefaults.exclude, ...NO_TEST_FILES],
    // The quick run leaves types to `npm run typecheck`, which reads the same file.
    typecheck: { enabled: FULL, include: ['test/types/*.test-d.ts'] },
    // By itself vitest leaves one core idle, which is half of a machine with two; one more than there are cores, because
    // tests of processes and of waits leave theirs idle, too.
    maxWorkers: availableParallelism() + 1,
    // The sources are read once a worker and not once a file; no test replaces a module or a global for others.
    isolate: false,
    sequence: { sequencer: ProofsFirst },
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
    expect: { poll: { timeout: PATIENCE / 10 } },
  },
})
