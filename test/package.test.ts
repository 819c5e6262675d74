import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Paths in the package that npm would publish. */
function packed(): string[] {
  const answer = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: ROOT, stdio: 'pipe' })
  const [{ files }] = JSON.parse(answer.toString()) as [{ files: { path: string }[] }]
  return files.map(file => file.path)
}

describe('the published package', () => {
  it('has the program, the library with its types, the sample, the data, and what the licences ask for', () => {
    const files = packed()
    for (const path of [
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'bin/bands.js',
      'data/README.md',
      'data/bars/AAPL.csv',
      'dist/LICENSES.txt',
      'dist/cli/main.js',
      'dist/index.js',
      'dist/sample.db',
      'dist/types/index.d.ts',
    ])
      expect(files).toContain(path)
  })

  it('has nothing that only its makers need', () => {
    const folders = new Set(packed().map(path => path.split('/')[0]))
    expect([...folders].sort()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'data', 'dist', 'package.json'])
  })

  it('carries the licence of every package that the sources import', () => {
    const licences = readFileSync(join(ROOT, 'dist', 'LICENSES.txt'), 'utf8')
    const names = importedPackages()
    expect(names).toContain('better-sqlite3')
    for (const name of names) expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(.+\\)$`, 'm'))
  })
})

function importedPackages(): string[] {
  const src = join(ROOT, 'src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  const names = files.flatMap(name =>
    [...readFileSync(join(src, name), 'utf8').matchAll(/(?:^(?:import .*|\} )from |import\()'([^'.:]+)'/gm)].map(
      match => match[1]!,
    ),
  )
  return [...new Set(names)]
}
