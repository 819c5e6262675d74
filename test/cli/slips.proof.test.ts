import { expect, test } from 'vitest'
import { randomNumbers } from '../support/bars.js'
import { draws, notInQuick } from '../support/full.js'
import { bundledBars, type Ran, run, wordsOf } from './support/run.js'
import { drawSlip, GOOD_LINES, isPasteable, lastLine } from './support/slips.js'

const { ask, folder } = bundledBars()
const env = { BANDS_DB: folder.file('bands.db') }

const answers = new Map<string, Promise<Ran>>()
/** Runs the last line of an error, each once; files that it writes are in the folder. */
function pasted(line: string): Promise<Ran> {
  const words = wordsOf(line).slice(1)
  const own = words.map(word => (/^[\w-]+\.(html|csv|ndjson|json|yaml)$/.test(word) ? folder.file(word) : word))
  const answer = answers.get(line) ?? run(own, { env })
  answers.set(line, answer)
  return answer
}

notInQuick('the lines in which slips are made work', async () => {
  for (const line of GOOD_LINES) expect([line, (await ask(line)).code]).toEqual([line, 0])
})

test('the last line of the error of a random slip works, or is a question', async () => {
  const random = randomNumbers(29)
  const most = draws(300)
  const broken: string[] = []
  for (let slips = 0; slips < most; ) {
    const { kind, words } = await drawSlip(random)
    const { code, err } = await run(words, { env })
    if (code === 0) continue
    slips++
    const last = lastLine(err)
    if (last.endsWith('?')) continue
    const then = isPasteable(last) ? await pasted(last) : null
    if (then?.code !== 0) broken.push(`${kind}: ${words.join(' ')} -> ${last} -> ${then?.err.split('\n')[0]}`)
  }
  expect(broken.join('\n')).toBe('')
}, 120_000)
