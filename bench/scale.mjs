// How time, memory and what is written grow: simulated tickers, more of them (T) and longer ones (B).
import { askedOf, BARE_NODE, oneMoreBar } from './users.mjs'
import { importOf, simulated } from './worlds.mjs'

/** Name → tickers and bars of each. One size belongs to both rows of sizes. */
export const SIZES = {
  T100: [100, 1250],
  T505: [505, 1250],
  T2000: [2000, 1250],
  T12000: [12_000, 1250],
  B2500: [505, 2500],
  B5000: [505, 5000],
  B10000: [505, 10_000],
}

/** In the order of a day: the first makes the database that the others ask. */
export const STEPS = {
  import: worldOf => build => () => importOf(build, worldOf(build)),
  'one-more-bar': oneMoreBar,
  now: asking('now', '--json'),
  tally: asking('tally', 'rsi_zone', '--all', '--json'),
  scan: asking('scan', 'oversold', '--json'),
  study: asking('study', 'rsi_zone', '--all', '--band', 'oversold', '--json'),
  sweep: asking('sweep', '--all', '--json'),
  status: asking('status', '--json'),
  verify: asking('verify', '--json'),
  screen: asking('screen', 'rsi_zone = oversold', '--json'),
}

export const scale = Object.entries(SIZES).flatMap(([size, [tickers, bars]]) =>
  Object.entries(STEPS).map(([step, samplerOf]) => ({
    name: `${size}-${step}`,
    group: 'scale',
    what: `${step} of ${tickers} x ${bars} bars`,
    target: {},
    of: 'wall',
    size,
    step,
    isLarge: size !== 'T100',
    floor: BARE_NODE,
    // A database of many tickers is made once.
    rounds: size === 'T100' && step !== 'import' ? undefined : 1,
    world: `simulated-${tickers}x${bars}`,
    sampler: samplerOf(build => simulated(build, tickers, bars)),
  })),
)

function asking(...words) {
  return worldOf => askedOf(worldOf, ...words)
}
