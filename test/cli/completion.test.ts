import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { BUILT_IN_FIELDS } from '../../src/core/fields/index.js'
import { firstInQuick, QUICK } from '../support/full.js'
import { BIN, importBundledBars, type Ran, run, scratch, typed } from './support/run.js'

const folder = scratch()
const BIN_FOLDER = folder.file('bin')
const FILES = folder.file('files')
const ENV = { BANDS_DB: folder.file('bands.db') }

beforeAll(async () => {
  mkdirSync(BIN_FOLDER)
  symlinkSync(BIN, join(BIN_FOLDER, 'bands'))
  mkdirSync(FILES)
  for (const name of ['prices one.csv', 'strategy.yaml']) writeFileSync(join(FILES, name), '')
  await importBundledBars(ENV.BANDS_DB)
})
afterAll(() => folder.remove())

/** What may stand at the end of a line: after a blank anything, otherwise what begins so. */
async function offered(line: string, env: Record<string, string> = ENV): Promise<string[]> {
  const { code, out, err } = await asked(line.split(/ +/), env)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
    .split('\n')
    .filter(text => text !== '')
    .map(text => text.split('\t')[0]!)
}

const asked = (words: readonly string[], env: Record<string, string> = ENV): Promise<Ran> =>
  run(['completion', '--complete', '--', ...words], { env })

describe('bands completion --complete', () => {
  it.each([
    ['ev', ['events']],
    ['check ', ['lookahead']],
    ['accounts set', ['set-tier']],
    ['help tal', ['tally']],
    ['help opt', ['options']],
    ['--tier plus eve', ['events']],
    ['events aap', ['AAPL']],
    ['events AAPL rsi', ['rsi_zone']],
    ['events AAPL rsi_zone ', []],
    ['events AAPL rsi_zone --band over', ['oversold', 'overbought']],
    ['events AAPL rsi_zone --band oversold,overb', ['oversold,overbought']],
    ['tally rsi_zone --all --band oversold,deep_overs', ['oversold,deep_oversold']],
    ['events AAPL rsi_zone --band=deep_overs', ['--band=deep_oversold']],
    ['events --json AAPL macd_state --limit 3 --band over', []],
    ['events AAPL rsi_zone --timeframe ', ['daily', 'weekly']],
    ['study AAPL rsi_zone --band oversold,overb', ['oversold,overbought']],
    ['events AAPL --fail', ['--fail-empty']],
    ['events AAPL --output ', ['table', 'json', 'ndjson', 'csv']],
    ['export --output p', ['parquet']],
    ['--tier ', ['free', 'plus', 'pro']],
    ['accounts set-tier alice p', ['plus', 'pro']],
    ['accounts create alice --tier f', ['free']],
    ['tally AAPL rsi_zone --tickers GSPC,aap', ['GSPC,AAPL']],
    ['scan oversold --sort ', ['condition_percentile', 'days_oversold', 'severity']],
    ['facts AAPL --kind rat', ['ratings']],
    ['backtest AAPL rsi_zone --vary ho', ['hold=']],
    ['backtest AAPL rsi_zone --vary exit', ['exit=']],
    ['backtest AAPL rsi_zone --vary hold=5,', []],
    ['export ev', ['events']],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['import ', [':files']],
    ['--db ', [':files']],
    ['backtest str', [':files']],
    ['now @', [':files']],
    ['fields check ', [':files']],
    ['fields check earn', [':files']],
    ['nonsense --of all ki', []],
  ])('knows what may stand at the end of "%s"', async (line, words) => {
    expect((await offered(line)).sort()).toEqual([...words].sort())
  })

  it('knows the first field of a condition', async () => {
    expect(await offered('events AAPL --when rsi')).toEqual(['rsi_zone'])
    expect(await offered('tally --all --when=rsi')).toEqual(['--when=rsi_zone'])
    expect(await offered('screen rsi')).toEqual(['rsi_zone'])
  })

  it('knows every field, and every ticker that is loaded', async () => {
    expect(await offered('explain AAPL ')).toEqual([...BUILT_IN_FIELDS.names])
    expect(await offered('explain ')).toEqual(
      JSON.parse((await typed('status --json', { env: ENV })).out).tickers.map(
        ({ ticker }: { ticker: string }) => ticker,
      ),
    )
  })

  it('takes the tickers of the sample where there is no database, and none of one that is missing', async () => {
    expect(await offered('events AAP', {})).toEqual(['AAPL'])
    expect(await offered(`--db ${folder.file('none.db')} events AAP`)).toEqual([])
  })

  it('says what a command, an option and a field are', async () => {
    expect((await asked(['tall'])).out).toBe('tally\tcount what the price did after events\n')
    expect((await asked(['events', '--wi'])).out).toBe('--wide\twords instead of signs\n')
    expect((await asked(['events', 'AAPL', 'rsi'])).out).toMatch(/^rsi_zone\tfree\n/)
  })

  it('refuses nothing, not even a setting that every other command refuses', async () => {
    const env = { BANDS_TIER: 'gold', BANDS_DB: '/dev/null/none.db' }
    expect(await asked(['events', ''], env)).toEqual({ code: 0, out: '', err: '' })
    expect(await asked([], env)).toMatchObject({ code: 0, err: '' })
    for (const words of [['--'], ['='], ['events', '=', ':'], ['events', '--band'], ['-'], ['help', 'help', '']])
      expect(await asked(words, env)).toMatchObject({ code: 0, err: '' })
  })
})

describe('bands completion bash', () => {
  const LINES: [string[], string[]][] = [
    [['tally', 'AAPL', 'rsi_zone', '--band', '=', 'overs'], ['oversold']],
    [['tal'], ['tally']],
    [['tally', 'aap'], ['AAPL']],
    [['tally', 'AAPL', 'macd'], ['macd_state']],
    [['tally', 'AAPL', 'rsi_zone', '--band', 'overs'], ['oversold']],
    [
      ['tally', 'AAPL', 'rsi_zone', '--timeframe', '='],
      ['daily', 'weekly'],
    ],
  ]

  /** What bash itself would put in place of the last word of each line: the words are split as it splits them. */
  const completed = (lines: readonly (readonly string[])[]): string[][] => {
    const script = `source <(bands completion bash)
      completed() {
        COMP_WORDS=(bands "$@"); COMP_CWORD=$#
        _bands bands "\${@: -1}" bands
        printf '%s\\n' "\${COMPREPLY[@]}" ''
      }
      ${lines.map(words => `completed ${words.map(word => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')}`).join('\n')}`
    const printed = execFileSync('bash', ['-c', script], { cwd: FILES, env: processEnv() }).toString()
    return printed
      .trimEnd()
      .split('\n\n')
      .map(text => text.split('\n'))
  }

  it('completes a command, a ticker, a field, and the bands of the field', () => {
    const lines = firstInQuick(LINES, 2)
    expect(completed(lines.map(([words]) => words))).toEqual(lines.map(([, found]) => found))
  })

  it('prints one script, and the same in a document', async () => {
    const { out } = await typed('completion bash')
    const document = JSON.parse((await typed('completion bash --json')).out)
    expect(document).toEqual({ schema: 'bands.completion/1', shell: 'bash', script: out })
  })

  // The pseudo-terminal of util-linux; that of other systems is asked for differently.
  it.skipIf(QUICK || !existsSync('/usr/bin/script') || process.platform !== 'linux')(
    'works at the prompt, where names of files are left to bash',
    () => {
      const keys = [
        'source <(bands completion bash)',
        'bands eve\tAAP\trsi_z\t--band overs\t--limit 1 --json',
        'bands import pri\t--json',
        'exit',
      ]
      const shown = spawnSync('script', ['-qec', 'bash --norc --noprofile -i', '/dev/null'], {
        cwd: FILES,
        input: `${keys.join('\n')}\n`,
        env: processEnv(),
      })
        .stdout.toString()
        .replaceAll('\u0007', '')
      expect(shown).toContain('bands events AAPL rsi_zone --band oversold --limit 1 --json')
      expect(shown).toContain('"total_occurrences"')
      expect(shown).toContain('prices\\ one.csv')
    },
  )
})

test.each(['bash', 'zsh', 'fish'])('the script for %s is one that the shell can read', async shell => {
  const { code, out } = await typed(`completion ${shell}`)
  expect(code).toBe(0)
  expect(out).toContain('completion --complete --')
  const read = spawnSync(shell, ['-n'], { input: out })
  if (read.error === undefined) expect(read).toMatchObject({ status: 0 })
})

test('another shell is refused', async () => {
  expect(await typed('completion tcsh')).toMatchObject({ code: 2 })
})

function processEnv(): NodeJS.ProcessEnv {
  const PATH = [BIN_FOLDER, process.env.PATH].join(delimiter)
  return { ...ENV, PATH, HOME: folder.file('home'), TERM: 'dumb', LANG: 'C.UTF-8' }
}
