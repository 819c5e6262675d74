/** Two recordings side by side. */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const MOST_LINES = 16
const WIDTH = 160

const say = text => process.stdout.write(`${text}\n`)

/** Lists what differs by class; the number of cases that do. */
export function compare(before, after, only = '') {
  let differing = 0
  const classes = new Set([before, after].flatMap(folder => (existsSync(folder) ? readdirSync(folder) : [])))
  for (const name of [...classes].sort()) {
    if (only !== '' && name !== only) continue
    const sides = [join(before, name), join(after, name)]
    const cases = [...new Set(sides.flatMap(side => (existsSync(side) ? readdirSync(side) : [])))].sort()
    const found = cases.flatMap(file => difference(...sides.map(side => join(side, file))) ?? [])
    differing += found.length
    say(`${name}: ${found.length === 0 ? `all ${cases.length} the same` : `${found.length} of ${cases.length} differ`}`)
    for (const text of found) say(text)
  }
  if (classes.size === 0) say('nothing is recorded there')
  return classes.size === 0 ? 1 : differing
}

/** A short diff, or null where both are the same. */
function difference(before, after) {
  const missing = [before, after].find(file => !existsSync(file))
  if (missing !== undefined) return `  - not there: ${missing}`
  if (readFileSync(before).equals(readFileSync(after))) return null
  const { stdout } = spawnSync('diff', ['-U1', before, after], { encoding: 'utf8', maxBuffer: 2 ** 30 })
  const lines = stdout.split('\n').slice(2, -1)
  const more = lines.length > MOST_LINES ? [`    … ${lines.length - MOST_LINES} more lines`] : []
  return [`  - ${after}`, ...narrowed(lines.slice(0, MOST_LINES)).map(line => `    ${line}`), ...more].join('\n')
}

/** Long lines cut to where a removed one and the added one after it part. */
function narrowed(lines) {
  return lines.map((line, i) => {
    if (line.length <= WIDTH) return line
    const other = line.startsWith('-') ? lines[i + 1] : line.startsWith('+') ? lines[i - 1] : undefined
    const from = Math.max(1, parting(line, other ?? '') - WIDTH / 2)
    return `${line[0]}${from > 1 ? '…' : ''}${line.slice(from, from + WIDTH)}…`
  })
}

function parting(one, other) {
  let at = 1
  while (at < one.length && one[at] === other[at]) at++
  return at
}
