import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'bands-bench-test-'))
const history = join(folder, 'history.ndjson')
const json = join(folder, 'found.json')
afterAll(() => rmSync(folder, { recursive: true }))

function bench(...words: string[]) {
  const env = { ...process.env, BENCH_FOLDER: folder }
  return spawnSync(process.execPath, [join(ROOT, 'bench/run.mjs'), ...words], { encoding: 'utf8', env })
}

const found = () => JSON.parse(readFileSync(json, 'utf8'))

describe('the benchmarks', () => {
  it('hold each row against its floor in as many rounds as asked for', () => {
    const { status, stdout, stderr } = bench('C2-version', '--rounds', '2', '--json', json)
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^C2-version +\d/m)
    const { rows } = found()
    expect(rows).toMatchObject([{ row: 'C2-version', floor: 'node -e 0', rounds: 2 }])
    expect(rows[0].samples.ours).toHaveLength(2)
    expect(rows[0].samples.floor).toHaveLength(2)
    expect(rows[0].ratio.median).toBeGreaterThan(0)
  })

  it('hold two builds against each other, in turn', () => {
    const { status } = bench('C2-version', '--rounds', '1', '--against', ROOT, '--json', json)
    expect(status).toBe(0)
    const [{ ratios, samples }] = found().rows
    expect(ratios.wall.median).toBe(samples.ours[0].wall / samples.other[0].wall)
  })

  it('list every row with what it is held against and its target', () => {
    const lines = bench('U', '--list').stdout.split('\n')
    expect(lines).toContainEqual('U5              now, beside node -e 0; target {"seconds":0.2}')
  })

  it('record only what is committed, and show what was recorded last', () => {
    const isCommitted =
      spawnSync('git', ['diff', '--quiet', 'HEAD', '--', 'src', 'bin', 'scripts'], { cwd: ROOT }).status === 0
    const first = bench('C2-version', '--rounds', '1', '--record', '--history', history)
    if (!isCommitted) return expect(first.stderr).toContain('a history by commit takes a build of what is committed')
    const entry = JSON.parse(readFileSync(history, 'utf8'))
    expect(Object.keys(entry)).toEqual(['commit', 'date', 'node', 'cpu', 'row', 'ratio', 'ratio_cpu', 'spread'])
    const { stdout } = bench('C2-version', '--rounds', '1', '--history', history)
    expect(stdout).toContain(` at ${entry.commit} (`)
  })

  it('fail where a peer is not here, and leave the row out where that is allowed', () => {
    const env = { ...process.env, BENCH_FOLDER: folder, BENCH_POSTGRES: undefined }
    const run = (...words: string[]) =>
      spawnSync(process.execPath, [join(ROOT, 'bench/run.mjs'), 'P1-64', ...words], { encoding: 'utf8', env })
    const failed = run()
    const skipped = run('--skip-missing')
    expect([failed.status, skipped.status]).toEqual([1, 0])
    expect(failed.stdout).toMatch(/^P1-64 +FAILED: BENCH_POSTGRES names no database/m)
    expect(skipped.stdout).toMatch(/^P1-64 +skipped: BENCH_POSTGRES names no database/m)
  })

  it('say which names there are when one is unknown', () => {
    const { status, stderr } = bench('U99')
    expect(status).toBe(1)
    expect(stderr).toMatch(/^no row or group is named U99\n/)
  })

  it('bundle only names that the sources export', async () => {
    const programs = readdirSync(join(ROOT, 'bench')).filter(name => /\.[cm]js$/.test(name))
    const imports = programs.flatMap(program => {
      const text = readFileSync(join(ROOT, 'bench', program), 'utf8')
      return Array.from(text.matchAll(/export \{ (\w+) \} from '\.\/(src\/[^'$]+)'/g), ([, name, file]) => ({
        name,
        file,
      }))
    })
    expect(imports.length).toBeGreaterThan(5)
    for (const { name, file } of imports)
      expect(await import(join(ROOT, file!.replace(/\.[jt]s$/, '.ts'))), file).toHaveProperty(name!)
  })
})
