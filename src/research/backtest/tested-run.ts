import type { Step, Workers } from '../../core/source.js'
import { runInOrder } from '../../data/threads.js'
import { DRAWS, type DrawFigures, type DrawnRun, drawsFrom, figuresOfDraw, prepareRuns, type Runs } from './draws.js'
import type { LoadedStrategy } from './members.js'
import { entryTest, longestTradeBars } from './random-entry.js'
import type { EntryRank } from './verdict.js'

export interface DrawsData extends LoadedStrategy {
  /** Whether each draw is compared with random entries. */
  isTested: boolean
  /** Bars of the longest trade of the first draw. */
  longest: number
}

/** The figures of a draw, and its rank among random entries. */
interface TestedDraw {
  figures: DrawFigures
  rank: EntryRank | null
}

/** Returns a function that makes a draw by its number, from 1, and tests it against random entry. */
export function drawRunner(data: DrawsData, runs: Pick<Runs, 'run'> = prepareRuns(data)): (draw: number) => TestedDraw {
  const test = data.isTested ? entryTest(data, data.longest) : null
  return draw => {
    const simulation = runs.run(draw, { isBrief: true })
    return { figures: figuresOfDraw(simulation), rank: test === null ? null : test(simulation.trades) }
  }
}

/** Bars whose draw takes about a millisecond. */
const BARS_A_MS = 20_000

/**
 * The shown run, and the rank of each draw; no ranks if there is nothing to draw or to test. Draws run on this thread
 * and on other machines. More threads would not help, because each would repeat the work that the draws share.
 */
export async function runAndTestDraws(
  loaded: LoadedStrategy,
  reps: number,
  { cluster }: Workers,
  step: Step = () => {},
): Promise<{ simulation: DrawnRun; ranks: (EntryRank | null)[] }> {
  const runs = prepareRuns(loaded)
  if (runs.singleRun !== null) return { simulation: { ...runs.singleRun, draws: null }, ranks: [] }
  const firstDraw = runs.run(1, { isBrief: true })
  const data: DrawsData = { ...loaded, isTested: reps > 0, longest: longestTradeBars(firstDraw.trades) }
  const tasks = Array.from({ length: DRAWS }, (_, i) => i + 1)
  const ms = 1 + (DRAWS * loaded.members.reduce((sum, { bars }) => sum + bars.days.length, 0)) / BARS_A_MS
  const work = { job: 'draws' as const, data: () => data, tasks, ms, here: drawRunner(data, runs) }
  const tested: TestedDraw[] = []
  for await (const draw of runInOrder(work, { threads: 1, cluster })) {
    tested.push(draw)
    step(() => `trades  draw ${tested.length}/${DRAWS}`)
  }
  const draws = drawsFrom(tested.map(({ figures }) => figures))
  const ranks = data.isTested ? tested.map(({ rank }) => rank) : []
  return { simulation: { ...runs.run(draws.shown), draws }, ranks }
}
