import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FULL, firstInQuick, notInQuick } from '../support/full.js'
import { BARS, BIN, type Ran, scratch, shell } from './support/run.js'

const folder = scratch()
const env = { BANDS_DB: folder.file('bands.db') }
const sh = (line: string, more: Record<string, string> = {}): Promise<Ran & { signal: string | null }> =>
  shell(line, { ...env, ...more })

beforeAll(async () => {
  const ran = await sh(`bands import "${BARS}" && bands simulate 1 --bars 3000 --end 2018-05-11 --load`)
  expect(ran.err).toBe('')
  expect(ran.code).toBe(0)
})
afterAll(folder.remove)

// The script command of other systems takes other options.
const PSEUDO_TERMINAL = process.platform === 'linux' && existsSync('/usr/bin/script')

const some = FULL ? 'export series' : 'export series --tickers AAPL'

describe('the built program in a shell', () => {
  test('answers into a pipe without colour, hints or signs, and names omitted columns', async () => {
    const ran = await sh('bands events AAPL rsi_zone --band oversold --limit 2 | cat')
    expect(ran.err).toBe('8 older events are left out: --limit 10 shows them.\n')
    expect(ran.out).toMatch(/^DATE {8}BAND {6}FROM/)
    expect(ran.out).not.toContain('\u001b')
    expect(ran.out).toContain('sharp_gain')
    expect(ran.out.trimEnd().split('\n')).toHaveLength(3)
  })

  test('sets the exit code', async () => {
    expect((await sh('bands events AAPL rsi_zon')).code).toBe(2)
    expect((await sh('bands events ZZZZ rsi_zone --json')).code).toBe(3)
  })

  notInQuick('hands megabytes through a pipe to the last byte, in every text format', async () => {
    for (const format of ['ndjson', 'csv', 'json']) {
      const file = folder.file(`all.${format}`)
      const direct = await sh(`bands ${some} --output ${format} > "${file}"`)
      expect(direct).toMatchObject({ code: 0, err: '' })
      expect(statSync(file).size).toBeGreaterThan(FULL ? 3_000_000 : 300_000)
      const piped = await sh(`set -o pipefail; bands ${some} --output ${format} | cat | cmp - "${file}"`)
      expect(piped).toMatchObject({ code: 0, out: '', err: '' })
    }
  })

  notInQuick('imports every file to the end, though nobody reads what it tells', async () => {
    const db = folder.file('unread.db')
    await sh(`bands simulate 8 --bars 400 --facts "${folder.file('facts')}" > "${folder.file('simulated.csv')}"`)
    const files = `"${folder.file('simulated.csv')}" "${folder.file('facts')}"`
    const ran = await sh(`set -o pipefail; bands import ${files} --db "${db}" | true`)
    expect(ran).toMatchObject({ code: 0, err: '' })
    const told = await sh(`bands facts SIM0008 --db "${db}" --csv | cut -d, -f2 | sort -u | wc -l`)
    expect(told.out.trim()).toBe('7')
    expect((await sh(`bands events SIM0001 valuation_zone --db "${db}"`)).code).toBe(0)
    expect((await sh(`bands verify --deep --db "${db}"`)).code).toBe(0)
  })

  notInQuick('writes into a device or through a link without taking its place', async () => {
    const link = folder.file('link.csv')
    const bars = 'bands export bars --tickers AAPL --csv --write'
    const through = await sh(`ln -s linked.csv "${link}"; ${bars} "${link}"; test -L "${link}"`)
    expect(through).toMatchObject({ code: 0, err: `wrote 1,260 rows to ${link}\n` })
    expect(readFileSync(folder.file('linked.csv'), 'utf8')).toMatch(/^ticker,date,/)
    const piped = await sh(`${bars} /dev/stdout -q | wc -l`)
    expect(Number(piped.out)).toBe(1261)
    if (!existsSync('/dev/full')) return
    // A name that leads to the device, so that a fault of ours could not hurt this machine.
    const full = folder.file('full')
    const refused = await sh(`ln -s /dev/full "${full}"; ${bars} "${full}"; echo $? >&2; test -L "${full}"`)
    expect(refused.code).toBe(0)
    expect(refused.err.replace(/\s+/g, ' ')).toMatch(/the disk is full\. try: bands doctor 6 $/)
  })

  notInQuick('waits for a slow reader', async () => {
    const slow = await sh(`set -o pipefail; bands ${some} --csv | (sleep 0.4; cat) | wc -c`)
    expect(slow.code).toBe(0)
    expect(Number(slow.out)).toBe(statSync(folder.file('all.csv')).size)
  })

  const CUT_SHORT = [
    'bands fields | true',
    'bands simulate 300 | head -1',
    'bands export series --ndjson | head -1',
    'bands export series --csv | head -1',
    'bands export events --json | head -c 10',
    'bands --help | true',
  ]

  test.each(firstInQuick(CUT_SHORT, 2))('ends silently with 0 when its reader goes: %s', async line => {
    const ran = await sh(`${line}; echo "codes \${PIPESTATUS[0]}" >&2`)
    expect(ran.err).toBe('codes 0\n')
  })

  notInQuick('ignores a closed stderr', async () => {
    expect((await sh('bands events AAPL rsi_zon 2>&-')).code).toBe(2)
    expect((await sh('bands events AAPL rsi_zone --json 2>&- | wc -l')).out.trim()).toBe('1')
  })

  notInQuick.each([
    ['INT', 130],
    ['TERM', 143],
  ])('is ended by SIG%s with %d', async (signal, code) => {
    // With job control, because a background process of a shell without it is deaf to SIGINT.
    const line = `set -m; "$NODE" "$BIN" simulate 1000000 > /dev/null & sleep 0.7; kill -${signal} $!; wait $!; echo $?`
    expect((await sh(line)).out).toContain(`${code}\n`)
  })

  notInQuick('is ended by a signal while it waits for standard input', async () => {
    // A pipe that is open at both ends here: nothing comes, and it does not end, however slow this machine is.
    const pipe = `mkfifo "${folder.file('silent')}"; exec 3<> "${folder.file('silent')}"`
    const line = 'set -m; "$NODE" "$BIN" import - <&3 & sleep 0.7; kill -TERM $!; wait $!; echo $?'
    expect((await sh(`${pipe}; ${line}`)).out).toContain('143\n')
  })

  test('writes nothing when asked', async () => {
    const home = folder.file('home')
    await sh(`mkdir "${home}"; chmod 500 "${home}"`)
    const before = readdirSync(folder.path).sort()
    for (const line of firstInQuick(['events AAPL rsi_zone', 'fields', 'verify', 'explain AAPL rsi_zone']))
      expect((await sh(`cd "${folder.path}" && bands ${line}`, { HOME: home })).code).toBe(0)
    expect(readdirSync(folder.path).sort()).toEqual(before)
    expect(readdirSync(home)).toEqual([])
  })
})

describe('a terminal', () => {
  const onTerminal = (line: string, columns: number, more: Record<string, string> = {}): Promise<Ran> =>
    sh(`script -qec 'stty cols ${columns}; "${process.execPath}" "${BIN}" ${line}' /dev/null < /dev/null`, {
      TERM: 'xterm',
      LANG: 'C.UTF-8',
      ...more,
    })

  test.skipIf(!PSEUDO_TERMINAL)('gets signs, colour and hints', async () => {
    const { out } = await onTerminal('events AAPL rsi_zone --band oversold --limit 3', 80)
    expect(out).toContain('\u001b[1mAAPL  rsi_zone = oversold  daily   10 events in all, newest 3   as of 2018-05-11')
    expect(out).toContain('\u001b[32m+++')
    expect(out).toContain('7 older: --limit 10')
    expect(await onTerminal('events AAPL rsi_zone', 80, { NO_COLOR: '1' })).not.toMatchObject({
      out: expect.stringContaining('\u001b'),
    })
  })

  test.skipIf(!PSEUDO_TERMINAL)('gets JSON that is pretty and parses', async () => {
    const { out } = await onTerminal('events AAPL rsi_zone --json --limit 1', 80)
    expect(JSON.parse(out)).toHaveProperty('total_occurrences', 284)
    expect(out.split('\n').length).toBeGreaterThan(10)
  })
})
