// What was measured, for people and for programs: a line a row, and the history of a row by commit.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { ratio, summed } from './measure.mjs'

/** More is better of these; of all others less. */
const RATES = ['rate', 'speed']
/** A ratio has moved when it is apart by more than a tenth and by more than the rounds were. */
const MOVED = 0.1

/** The figures of a row; `floor` is null where nothing was measured beside it. */
export function resultOf(row, samples, floor) {
  const ours = samples.ours
  const beside = floor === null ? null : samples.floor
  const of = figure => (ours.every(sample => Number.isFinite(sample[figure])) ? summed(ours.map(s => s[figure])) : null)
  const { name, group, what, target, hope } = row
  const figures = Object.fromEntries(['wall', 'cpu', 'peak', 'written', row.of].map(figure => [figure, of(figure)]))
  return {
    row: name,
    group,
    what,
    target,
    hope,
    of: row.of,
    floor: floor?.name ?? null,
    rounds: ours.length,
    ...figures,
    ratio: beside && ratio(ours, beside, row.of),
    ratio_cpu: beside && ratio(ours, beside, 'cpu'),
    note: ours.at(-1).note ?? '',
    samples,
  }
}

/** How many times the target is what was measured; below 1 it is met. */
function ofTarget({ target, of, ratio: found, ...figures }) {
  const [[kind, least] = []] = Object.entries(target)
  // A floor of less than a millisecond is 0 where it is told in whole ones.
  if (kind === undefined || (kind === 'ratio' && found === null)) return null
  if (kind === 'ratio') return RATES.includes(of) ? least / found.median : found.median / least
  const figure = figures[kind === 'cpu' ? 'cpu' : of]
  return RATES.includes(of) ? least / figure.median : figure.median / least
}

export function heading(build, against) {
  const [{ model } = { model: 'unknown' }, { length }] = [cpus()[0], cpus()]
  const machine = `node ${process.versions.node}, ${length} cores, ${model.trim()}`
  const what = against === undefined ? build.name : `${build.name} against ${against.name}`
  return `${what}; ${machine}\nmedians of interleaved rounds; ± is the middle half of the rounds, as a share of the median`
}

const COLUMNS = [
  ['', 24],
  ['', 10],
  ['CPU', 9],
  ['peak', 10],
  ['written', 10],
  ['x floor', 9],
  ['±', 7],
  ['CPU x', 9],
  ['target', 9],
  ['of it', 9],
  ['hope', 9],
]

export function tableHead() {
  return lineOf(COLUMNS.map(([title]) => title))
}

export function tableLine(result) {
  const { row, of, cpu, peak, written, ratio: found, ratio_cpu: byCpu, target, hope, floor, what, note } = result
  const missed = ofTarget(result)
  const cells = [
    row,
    shown(of, result[of]?.median),
    shown('cpu', cpu?.median),
    shown('peak', peak?.median),
    shown('written', written?.median),
    of === 'wall' || found ? factor(found?.median) : '',
    found ? percent(found.spread) : '',
    of === 'wall' ? factor(byCpu?.median) : '',
    targetOf(target, of),
    missed === null ? '' : `${missed.toFixed(2)} x`,
    hope === undefined ? '' : targetOf({ [Object.keys(target)[0]]: hope }, of),
  ]
  const beside = floor === null || floor === 'node -e 0' ? '' : ` (floor: ${floor})`
  return `${lineOf(cells)}  ${what}${beside}${note === '' ? '' : `; ${note}`}`
}

/** The same for a table of Markdown. */
export function cellsOf(result) {
  const { row, what, of, cpu, peak, ratio: found, ratio_cpu: byCpu, target, hope, floor, note } = result
  return [
    row,
    note === '' ? what : `${what}; ${note}`,
    shown(of, result[of]?.median),
    of === 'cpu' ? '' : shown('cpu', cpu?.median),
    of === 'peak' ? '' : shown('peak', peak?.median),
    found ? `${factor(found.median)} ± ${percent(found.spread)}` : '',
    of === 'wall' ? factor(byCpu?.median) : '',
    targetOf(target, of),
    hope === undefined ? '' : targetOf({ [Object.keys(target)[0]]: hope }, of),
    floor ?? '',
  ]
}

function lineOf(cells) {
  return cells.map((cell, i) => (i === 0 ? cell.padEnd(COLUMNS[0][1]) : cell.padStart(COLUMNS[i][1]))).join('')
}

function targetOf(target, of) {
  const [[kind, value] = []] = Object.entries(target)
  if (kind === undefined) return ''
  if (kind === 'ratio') return `${value} x`
  return kind === 'cpu' ? `${shown('cpu', value)} CPU` : shown(kind === 'seconds' ? 'wall' : of, value)
}

function shown(figure, value) {
  if (value === undefined) return ''
  if (figure === 'wall' || figure === 'cpu') return `${value < 0.1 ? value.toFixed(3) : value.toFixed(2)} s`
  if (figure === 'speed') return shown('wall', 1 / value)
  if (figure === 'peak' || figure === 'written') return `${Math.round(value / 2 ** 20)} MiB`
  return value < 100 ? String(Number(value.toPrecision(3))) : Math.round(value).toLocaleString('en')
}

function factor(value) {
  if (value === undefined) return ''
  return `${value < 10 ? value.toFixed(2) : value.toFixed(0)} x`
}

function percent(share) {
  return `${(share * 100).toFixed(0)} %`
}

/** Two builds by the rounds that they share: new by old, of wall clock, processor and memory. */
export function pairOf(row, samples) {
  const ours = samples.ours
  const other = samples.other
  const figures = [row.of, 'cpu', 'peak', 'written'].map(figure => [figure, ratio(ours, other, figure)])
  const medians = Object.fromEntries(
    ['ours', 'other'].map(name => [name, summed(samples[name].map(sample => sample[row.of])).median]),
  )
  const ratios = Object.fromEntries(figures)
  return { row: row.name, what: row.what, of: row.of, rounds: ours.length, ...medians, ratios, samples }
}

export function pairHead() {
  return `${' '.repeat(24)}${['new', 'old', 'new/old', '±', 'CPU', 'peak', 'written'].map(title => title.padStart(10)).join('')}`
}

export function pairLine({ row, what, of, ours, other, ratios }) {
  const cells = [
    shown(of, ours),
    shown(of, other),
    factor(ratios[of]?.median),
    ratios[of] ? percent(ratios[of].spread) : '',
    ...['cpu', 'peak', 'written'].map(figure => factor(ratios[figure]?.median)),
  ]
  return `${row.padEnd(24)}${cells.map(cell => cell.padStart(10)).join('')}  ${what}`
}

/** What one line of the history says of a row. */
export function entryOf(result, { commit }) {
  const { row, ratio: found, ratio_cpu: byCpu, of } = result
  const { median, spread } = found ?? result[of]
  const machine = { commit, date: new Date().toISOString(), node: process.versions.node, cpu: cpus()[0]?.model.trim() }
  const rounded = value => Number(value.toPrecision(4))
  const cpuRatio = byCpu === null || of !== 'wall' ? {} : { ratio_cpu: rounded(byCpu.median) }
  return { ...machine, row, ratio: rounded(median), ...cpuRatio, spread: rounded(spread) }
}

export function record(file, entries) {
  appendFileSync(file, entries.map(entry => `${JSON.stringify(entry)}\n`).join(''))
}

/** The last recorded entry of the same row on a machine of the same kind. */
export function lastOf(file, entry) {
  if (!existsSync(file)) return null
  const entries = readFileSync(file, 'utf8').trimEnd().split('\n').filter(Boolean)
  const major = version => version.split('.')[0]
  const isLike = other => other.row === entry.row && other.cpu === entry.cpu && major(other.node) === major(entry.node)
  return entries.map(line => JSON.parse(line)).findLast(isLike) ?? null
}

/** How a row stands to its last entry; a regression is told from what rounds differ by themselves. */
export function comparison(row, now, last) {
  const change = now.ratio / last.ratio - 1
  const isWorse = RATES.includes(row.of) ? change < 0 : change > 0
  const word =
    Math.abs(change) <= Math.max(MOVED, now.spread, last.spread) ? 'as' : isWorse ? 'SLOWER than' : 'better than'
  const moved = `${change < 0 ? '-' : '+'}${Math.abs(change * 100).toFixed(0)} %`
  return `${' '.repeat(24)}${word} at ${last.commit} (${factor(last.ratio)}, ${moved})`
}
