import { whole } from '../errors.js'
import { formatDay } from '../model/day.js'
import type { BarRange } from '../statistics/folds.js'
import { LEVEL } from '../statistics/verdict.js'
import { forwardReturns } from '../study/signals.js'
import { inOrder, shared } from '../threads.js'
import { type Seen, seenOf } from './best.js'
import {
  added,
  conditionsOf,
  type Ground,
  groundOf,
  NOTHING,
  type Pace,
  type Plan,
  poolOf,
  rangeMask,
  type Sums,
  signalsOn,
  signed,
  sumsOf,
  type Timeline,
  trainMask,
  windowEnds,
} from './ground.js'
import { adjusted, byEvidence, cellCount, type Look, looksAt, type Part, Resamples, type Scene } from './look.js'
import type { SweepValidation } from './result.js'

/** A cell on the training part, and the way it went there: 1 above its base, -1 below. */
interface Trained extends Pick<Look, 'key' | 'name' | 'sums'> {
  p: number
  q: number
  sign: 1 | -1
}

type Fold = Plan['folds'][number]

/** Cells chosen on one part of the data and checked on another, of whose windows the choice has seen none. */
export async function validationOf(
  scene: Scene,
  plan: Plan,
  pace: Pace,
  threads: number | undefined,
): Promise<SweepValidation> {
  const { timeline, query } = scene
  const ends = query.horizons.map(horizon => windowEnds(timeline, horizon))
  const windows = query.horizons.map(horizon => windowCounts(scene, horizon))
  const folds: SweepValidation['folds'] = []
  const checks: Sums[][] = []
  const scenes = plan.folds.map(fold => {
    const masks = ends.map(column => trainMask(fold, plan.embargo, column))
    return { ...scene, masks, name: `${plan.kind} ${fold.name}` }
  })
  const trained = await trainedIn(scenes, pace, threads)
  for (const [i, fold] of plan.folds.entries()) {
    const { masks } = scenes[i]!
    const chosen = chosenOf(trained[i]!, query)
    const checked = fold.test.map(part => checkedOn(scene, part, chosen))
    checks.push(checked)
    folds.push({
      ...rangesOf(fold, masks, windows, timeline),
      chosen: chosen.map(({ name, sign }) => (sign === 1 ? name : `${name} (short)`)),
      train_mean: meanOf(chosen.map(({ sums, sign }) => signed(sums, sign)).reduce(added, NOTHING)),
      test_mean: meanOf(checked.reduce(added, NOTHING)),
    })
  }
  const all = checks.flat().reduce(added, NOTHING)
  return { kind: plan.kind, folds, test: figuresOf(all), paths: plan.paths && pathMeans(plan.paths, checks) }
}

type Chance = Pick<Look, 'key' | 'name' | 'sums' | 'p'>

/** The cells of each scene. */
async function trainedIn(scenes: readonly Scene[], pace: Pace, threads: number | undefined): Promise<Chance[][]> {
  const trained: Chance[][] = scenes.map(() => [])
  for await (const { scene, seen } of lookAll({ scenes, tests: false }, pace, threads))
    for (const { found } of seen) trained[scene]!.push(found)
  return trained
}

/** Those with a corrected p below 5 %, or the best one where there is none. */
function chosenOf(looks: readonly Chance[], query: Scene['query']): Trained[] {
  const corrected = adjusted(
    looks.map(({ p }) => p),
    [],
    query.adjust,
  )
  const tested = looks.flatMap(({ p, ...look }, i): Trained[] => {
    const q = corrected[i]!
    const sign = look.sums.returns < look.sums.base ? -1 : 1
    return p === null || q === null ? [] : [{ ...look, p, q, sign }]
  })
  tested.sort(byEvidence)
  const found = tested.filter(({ q }) => q < LEVEL)
  return found.length > 0 ? found : tested.slice(0, 1)
}

/** What followed the events of the chosen cells in a test part, each cell in the direction that it was chosen for. */
function checkedOn({ books, timeline }: Scene, part: BarRange, chosen: readonly Trained[]): Sums {
  const mask = rangeMask([part], timeline.days.length)
  const known = new Map<string, Ground[]>()
  let sums: Sums = NOTHING
  for (const { key, sign } of chosen) {
    const { condition, horizon, ticker } = key
    const group = ticker === null ? books : books.filter(book => book.ticker === ticker)
    const name = `${condition.field} ${horizon} ${ticker}`
    const grounds = known.get(name) ?? group.map(book => groundOf(book, condition.field, horizon, mask, timeline))
    known.set(name, grounds)
    const pool = poolOf(grounds, signalsOn(group, condition))
    sums = added(sums, signed(sumsOf(pool.grounds), sign))
  }
  return sums
}

/** By place of the timeline: how many windows of events begin there and have elapsed, of all tickers and fields. */
function windowCounts({ books, timeline }: Scene, horizon: number): Int32Array {
  const found = new Int32Array(timeline.days.length)
  for (const book of books) {
    const places = timeline.places.get(book)!
    const forward = forwardReturns(book.prices, horizon)
    for (const { bars } of book.fields) for (const bar of bars) if (!Number.isNaN(forward[bar]!)) found[places[bar]!]!++
  }
  return found
}

/** The parts of a fold with their dates and windows, and how many windows of training were left out. */
function rangesOf(
  { name, train, test }: Fold,
  masks: readonly Uint8Array[],
  windows: readonly Int32Array[],
  { days }: Timeline,
): Pick<SweepValidation['folds'][number], 'name' | 'train' | 'test' | 'purged'> {
  const within = ({ from, to }: BarRange, isKept: (which: number, place: number) => boolean): number => {
    let sum = 0
    windows.forEach((column, which) => {
      for (let place = from; place < to; place++) if (isKept(which, place)) sum += column[place]!
    })
    return sum
  }
  const dated = (range: BarRange, events: number) => {
    return { from: formatDay(days[range.from]!), to: formatDay(days[range.to - 1]!), events }
  }
  const isTrained = (which: number, place: number): boolean => masks[which]![place] === 1
  const isAny = (): boolean => true
  return {
    name,
    train: train.map(range => dated(range, within(range, isTrained))),
    test: test.map(range => dated(range, within(range, isAny))),
    purged: train.reduce((sum, range) => sum + within(range, (which, place) => !isTrained(which, place)), 0),
  }
}

/** Mean return of each path, which goes through every group once. */
function pathMeans({ folds, groups }: NonNullable<Plan['paths']>, checks: readonly Sums[][]): (number | null)[] {
  return folds.map(path => {
    const parts = path.map((fold, group) => checks[fold]![groups[fold]!.indexOf(group)]!)
    return meanOf(parts.reduce(added, NOTHING))
  })
}

function figuresOf(sums: Sums): SweepValidation['test'] {
  const { n, returns, base, hits } = sums
  if (n === 0) return { n, mean: null, base: null, diff: null, hit: null }
  return { n, mean: returns / n, base: base / n, diff: (returns - base) / n, hit: hits / n }
}

function meanOf({ n, returns }: Sums): number | null {
  return n === 0 ? null : returns / n
}

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
    return pace(() => `${scenes[scene]!.name}, cell ${whole(1 + ((done - 1) % total))} of ${whole(total)}`)
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
