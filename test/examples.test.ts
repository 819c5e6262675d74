import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { QUICK } from './support/full.js'

/** A home without data, so that the bundled sample answers, and `bands` on the path as after `npm link`. */
const home = mkdtempSync(join(tmpdir(), 'bands-examples-'))
const programs = join(home, 'bin')
mkdirSync(programs)
const bands = join(programs, 'bands')
writeFileSync(bands, `#!/bin/sh\nexec '${process.execPath}' '${resolve('bin/bands.js')}' "$@"\n`)
chmodSync(bands, 0o755)

afterAll(() => rmSync(home, { recursive: true, force: true }))

function run(program: string, words: string[], env: Record<string, string> = {}): string {
  const path = [programs, process.env.PATH].join(delimiter)
  return execFileSync(program, words, {
    encoding: 'utf8',
    stdio: 'pipe',
    env: { ...process.env, ...env, HOME: home, PATH: path },
  })
}

const hasJq = spawnSync('jq', ['--version']).status === 0
const hasDuckdb = isInstalled('@duckdb/node-api')
/** Node runs TypeScript by itself from 22.18 on. */
const hasTypes = process.features.typescript !== false

describe('an example', () => {
  it.skipIf(QUICK || !hasJq)(`lists the evening's changes in a script${hasJq ? '' : ' (jq is not installed)'}`, () => {
    const lines = run('sh', ['examples/script/evening.sh'], { SINCE: '2018-05-07' }).trim().split('\n')
    expect(lines).toContainEqual(
      expect.stringMatching(/^2018-05-09 {2}AAPL {2}overbought: up after 20 days in \d+ % of \d+ cases, after any day/),
    )
    expect(lines).toContainEqual(expect.stringMatching(/^2018-05-11 {2}SIM0004 {2}oversold: /))
  })

  it.skipIf(!hasTypes)(`asks in TypeScript${hasTypes ? '' : ' (this Node does not run TypeScript)'}`, () => {
    const answer = run(process.execPath, ['examples/typescript/dips.ts'])
    expect(answer).toMatch(
      /^AAPL became oversold on 2018-02-08; 20 days after such days it was up in \d+\.\d % of \d+ cases$/m,
    )
    expect(answer).toMatch(/^20d: [a-z ]+$/m)
  })

  it.skipIf(!hasDuckdb)(`joins events and prices in SQL${hasDuckdb ? '' : ' (DuckDB is not installed)'}`, () => {
    const answer = run(process.execPath, ['examples/duckdb/notebook.mjs'])
    expect(answer).toMatch(/│ 'deep_oversold' +│ '\d+'/)
    expect(answer).toMatch(/│ 'SIM0008' +│ \d/)
  })
})

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}
