// Tables of README.md, between <!-- GROUP --> and <!-- /GROUP -->: a run puts its rows there. A table is of one build.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as report from './report.mjs'

const README = fileURLToPath(new URL('./README.md', import.meta.url))
const HEAD = [
  '| Row | What | Measured | CPU | Peak | x floor | CPU x | Target | Best hope | Floor | Build |',
  '|---|---|---|---|---|---|---|---|---|---|---|',
]

/** Puts the rows of a group into its table, in the order of `order`. Other lines stay if they are of the same build. */
export function putRows(group, results, { build, order }) {
  const kept = linesOf(group).filter(line => line.endsWith(` | ${build.name} |`))
  const lines = new Map(kept.map(line => [line.split(' | ')[0].slice(2), line]))
  for (const result of results) lines.set(result.row, `| ${[...report.cellsOf(result), build.name].join(' | ')} |`)
  const rows = order.filter(name => lines.has(name)).map(name => lines.get(name))
  putTable(group, `${[...HEAD, ...rows].join('\n')}\n`)
}

/** Replaces all that stands between the marks of a name. */
export function putTable(name, text) {
  const [before, , after] = partsOf(name)
  writeFileSync(README, `${before}<!-- ${name} -->\n${text}<!-- /${name} -->\n${after}`)
}

function linesOf(name) {
  const [, table] = partsOf(name)
  return table.split('\n').filter(line => line.startsWith('| ') && !HEAD.includes(line))
}

function partsOf(name) {
  const parts = readFileSync(README, 'utf8').split(new RegExp(`<!-- /?${name} -->\\n`))
  if (parts.length !== 3) throw new Error(`bench/README.md has no table between <!-- ${name} --> and <!-- /${name} -->`)
  return parts
}
