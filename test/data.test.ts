import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { parseDay } from '../src/core/model/day.js'
import { notInQuick } from './support/full.js'

const pathOf = (relative: string): string => fileURLToPath(new URL(`../${relative}`, import.meta.url))

const folder = mkdtempSync(join(tmpdir(), 'bands-data-'))
afterAll(() => rmSync(folder, { recursive: true }))

const makeData = (...args: string[]) =>
  spawnSync(process.execPath, [pathOf('scripts/make-data.mjs'), ...args], { encoding: 'utf8' })

/** The rows of a CSV file without quotes, as texts by column. */
function rowsOf(path: string): Record<string, string>[] {
  const [header, ...lines] = readFileSync(path, 'utf8').trimEnd().split('\n')
  const names = header!.split(',')
  return lines.map(line => Object.fromEntries(line.split(',').map((value, i) => [names[i]!, value])))
}

describe('the script that makes the bundled data', () => {
  it('finds the files as it would write them', () => {
    expect(makeData('--check')).toMatchObject({ status: 0, stderr: '' })
  })

  notInQuick('writes them anew elsewhere, byte for byte', () => {
    expect(makeData('--to', folder).status).toBe(0)
    for (const name of readdirSync(pathOf('data/bars')))
      expect(readFileSync(join(folder, name), 'utf8')).toBe(readFileSync(pathOf(`data/bars/${name}`), 'utf8'))
  })

  notInQuick('exits 1 and names a file that differs or is missing', () => {
    expect(makeData('--to', folder).status).toBe(0)
    writeFileSync(join(folder, 'AAPL.csv'), 'date,open,high,low,close,volume\n')
    rmSync(join(folder, 'GSPC.csv'))
    const { status, stderr } = makeData('--check', '--to', folder)
    expect(status).toBe(1)
    expect(stderr).toContain(join(folder, 'AAPL.csv'))
    expect(stderr).toContain(join(folder, 'GSPC.csv'))
    expect(readdirSync(folder)).toEqual(['AAPL.csv'])
  })
})

describe.each(readdirSync(pathOf('data/bars')))('data/bars/%s', name => {
  const path = pathOf(`data/bars/${name}`)
  const rows = rowsOf(path)

  it('holds good bars only, dates ascending', () => {
    for (const [i, row] of rows.entries()) {
      const [open, high, low, close] = [row.open, row.high, row.low, row.close].map(Number) as [
        number,
        number,
        number,
        number,
      ]
      const place = `${name}:${i + 2}`
      expect(parseDay(row.date!), place).not.toBeNull()
      if (i > 0) expect(row.date! > rows[i - 1]!.date!, place).toBe(true)
      expect(low > 0 && low <= Math.min(open, close) && high >= Math.max(open, close), place).toBe(true)
      expect(Number(row.volume) > 0, place).toBe(true)
    }
  })

  it('is described in the README with its dates, rows, columns and package version', () => {
    const readme = readFileSync(pathOf('data/README.md'), 'utf8')
    const line = readme.split('\n').find(text => text.startsWith(`| \`bars/${name}\``))
    const cells = line!.split('|').map(cell => cell.trim())
    const columns = readFileSync(path, 'utf8').split('\n', 1)[0]
    expect(cells.slice(3, 7)).toEqual([rows[0]!.date, rows.at(-1)!.date, String(rows.length), columns])
    const [, dependency, version] = /^`(.+)` (\S+)$/.exec(cells[7]!)!
    const { devDependencies } = JSON.parse(readFileSync(pathOf('package.json'), 'utf8'))
    expect(devDependencies[dependency!]).toBe(version)
  })
})

describe('the bundled bars together', () => {
  const aapl = rowsOf(pathOf('data/bars/AAPL.csv'))
  const index = rowsOf(pathOf('data/bars/GSPC.csv'))

  it('end on the same day, the index covering every day of AAPL and five years before', () => {
    const days = new Set(index.map(row => row.date))
    expect(aapl.every(row => days.has(row.date))).toBe(true)
    expect(index.at(-1)!.date).toBe(aapl.at(-1)!.date)
    expect(index.filter(row => row.date! < aapl[0]!.date!).length).toBeGreaterThanOrEqual(1260)
  })

  it('have an adjusted close for AAPL, which pays dividends, and none for the index', () => {
    expect(aapl.some(row => row.adj_close !== row.close)).toBe(true)
    expect('adj_close' in index[0]!).toBe(false)
  })
})
