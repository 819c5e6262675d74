// What a ticker costs to derive, without reading and writing: million bars a second of processor, in one process.
import { fileURLToPath } from 'node:url'
import { compiled } from './measure.mjs'
import { peer } from './peers.mjs'
import { figured } from './users.mjs'
import { Missing } from './worlds.mjs'

const FLOOR = fileURLToPath(new URL('./peers/kernels.c', import.meta.url))
const SCRIPT = fileURLToPath(new URL('./indicators.mjs', import.meta.url))

export const kernels = [
  {
    ...row('I1-C', 'indicators, million bars a second', 'indicators', { ratio: 0.4 }),
    hope: 1,
    floor: inC('indicators'),
  },
  beside('I1', '@ixjb94/indicators', '1.2.4', 1.7),
  beside('I1-indicatorts', 'indicatorts', '2.2.2', 6),
  beside('I1-technical', 'technicalindicators', '3.1.0', 30),
  beside('I1-signals', 'trading-signals', '8.3.0', 30),
  { ...row('I2-C', 'percentiles among 252 bars, million a second', 'rolling', { ratio: 0.5 }), floor: inC('ranks') },
  {
    ...row('I2', 'percentiles among 252 bars, million a second', 'rolling', {}),
    floor: { name: 'the same without WebAssembly', sampler: build => () => figured(words(build, 'plain')) },
  },
  { ...row('I3', 'all of a ticker, million bars a second', 'derive', {}), floor: null },
]

/** One fused pass of running sums, and counting: the floor. */
function inC(kind) {
  const sampler = () => {
    const program = compiled(FLOOR, 'kernels')
    if (program === null) throw new Missing('no C compiler is here for the floor')
    return () => figured([program, kind])
  }
  return { name: 'the same in C', sampler }
}

/** Another package makes the same indicators, ours one more. */
function beside(name, pack, version, ratio) {
  const sampler = build => {
    const command = words(build, pack, peer(pack, version))
    return () => figured(command)
  }
  return {
    ...row(name, 'indicators, million bars a second', 'indicators', { ratio }),
    floor: { name: `${pack} ${version}`, sampler },
  }
}

function row(name, what, kind, target) {
  return { name, group: 'kernels', what, target, of: 'rate', sampler: build => () => figured(words(build, kind)) }
}

function words(build, ...kind) {
  return [process.execPath, SCRIPT, build.root, ...kind]
}
