import { whole } from '../errors.js'
import { inOrder, shared } from '../threads.js'
import { type Seen, seenOf } from './best.js'
import { conditionsOf, type Pace } from './ground.js'
import { cellCount, looksAt, type Part, Resamples, type Scene } from './look.js'

/** What is looked at: the same data, and of them the bars that count in each scene. */
export interface SweepData {
  /** At least one. */
  scenes: readonly Scene[]
  /** Whether a cell that is tested gets what else is told of it, and what the contest needs. */
  tests: boolean
}

/** A part of a scene. */
export interface SweepTask extends Part {
  scene: number
}

/**
 * Looks at every cell of each scene, part by part in the order of the cells, here or in threads: what a cell draws hangs
 * on its name alone.
 */
export async function* lookAll(
  data: SweepData,
  pace: Pace,
  threads: number | undefined,
): AsyncGenerator<{ scene: number; seen: Seen[] }> {
  const { scenes } = data
  const tasks = scenes.flatMap((scene, i) => partsOf(scene).map(part => ({ ...part, scene: i })))
  const look = looker(data)
  let done = 0
  const turn = (scene: number): Promise<void> => {
    const total = cellCount(scenes[scene]!.query)
    return pace.turn(() => `${scenes[scene]!.name}, cell ${whole(1 + ((done - 1) % total))} of ${whole(total)}`)
  }
  const here = async (task: SweepTask): Promise<Seen[]> => {
    const seen: Seen[] = []
    for (const one of look(task)) {
      seen.push(one)
      done++
      await turn(task.scene)
    }
    return seen
  }
  const ms = tasks.length * msOfPart(scenes[0]!)
  const work = { job: 'sweep' as const, data: () => shared(data), tasks, ms, here }
  let [next, given] = [0, 0]
  for await (const seen of inOrder(work, threads)) {
    const { scene } = tasks[next++]!
    yield { scene, seen }
    // Those of other threads are counted here.
    given += seen.length
    done = given
    await turn(scene)
  }
}

/** Looks at parts, one after the other; what several of them draw is drawn once. */
export function looker({ scenes, tests }: SweepData): (task: SweepTask) => Generator<Seen> {
  const resamples = tests ? new Resamples(scenes[0]!.query) : null
  return function* (task) {
    const scene = scenes[task.scene]!
    for (const look of looksAt(scene, task)) yield seenOf(look, scene, resamples)
  }
}

/** Books whose cells are looked at together where each ticker has cells of its own: of all of them too much is kept. */
const TOGETHER = 64

function partsOf({ books, query: { fields, horizons, by } }: Scene): Part[] {
  const size = by === 'pool' ? books.length : TOGETHER
  const ranges = Array.from({ length: Math.ceil(books.length / size) }, (_, i) => {
    return { from: i * size, to: Math.min(books.length, (i + 1) * size) }
  })
  return [...fields.keys()].flatMap(field =>
    [...horizons.keys()].flatMap(which => ranges.map(range => ({ field, which, ...range }))),
  )
}

/** So many bars take a cell about a millisecond, with its tests. */
const BARS_A_MS = 10_000

function msOfPart({ books, query }: Scene): number {
  const { length } = query.by === 'pool' ? books : books.slice(0, TOGETHER)
  const bars = books.reduce((sum, { days }) => sum + days.length, 0)
  return (bars * (length / books.length) * conditionsOf(query, 0).length) / BARS_A_MS
}
