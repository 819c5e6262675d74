import { afterAll, expect, test } from 'vitest'
import { draws, FULL, provenInFull } from '../support/full.js'
import { type Ran, scratch, shell } from './support/run.js'

const folder = scratch()
const sh = (line: string): Promise<Ran> => shell(line, { BANDS_DB: folder.file('bands.db') })
afterAll(folder.remove)

test('finishes with the next import what a killed import of facts has left', async () => {
  const bars = folder.file('many.csv')
  const facts = folder.file('many-facts')
  const whole = folder.file('whole.db')
  const killed = folder.file('killed.db')
  await sh(
    `bands simulate ${FULL ? 40 : 10} --bars 500 --facts "${facts}" > "${bars}"; bands import "${bars}" --db "${whole}" -q`,
  )
  const events = (db: string) => sh(`bands export events --csv --db "${db}"`)
  const load = (db: string): string => `import "${facts}" --db "${db}" -q`
  await sh(`cp "${whole}" "${folder.file('before.db')}"; bands ${load(whole)}`)
  const expected = (await events(whole)).out
  expect(expected).toContain('valuation_zone')
  for (const seconds of [FULL ? 0.5 : 0.2, 0.3, 0.7, 0.9].slice(0, draws(4))) {
    await sh(`rm -f "${killed}"*; cp "${folder.file('before.db')}" "${killed}"`)
    await sh(`"$NODE" "$BIN" ${load(killed)} > /dev/null & sleep ${seconds}; kill -9 $!; wait $!`)
    expect((await sh(`bands verify --db "${killed}"`)).code).toBe(0)
    expect((await sh(`bands ${load(killed)}`)).code).toBe(0)
    expect((await events(killed)).out === expected, `killed after ${seconds} s`).toBe(true)
  }
})

provenInFull.each([
  ['INT', 130],
  ['TERM', 143],
])('an import is ended by SIG%s with %d, and the database can be written again', async (signal, code) => {
  const db = folder.file(`killed-${signal}.db`)
  const line = `"$NODE" "$BIN" simulate 3000 --load --db "${db}"`
  expect((await sh(`set -m; ${line} & sleep 1.5; kill -${signal} $!; wait $!; echo $?`)).out).toContain(`${code}\n`)
  expect((await sh(`bands simulate 1 --load --db "${db}"`)).code).toBe(0)
})
