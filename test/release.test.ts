import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { scratch } from './cli/support/run.js'

/** The public CI and the release: what of them can run here, runs here. GitHub, npm and Homebrew were not asked. */
interface Step {
  name?: string
  uses?: string
  run?: string
  with?: Record<string, unknown>
}
interface Workflow {
  permissions: Record<string, string>
  jobs: Record<string, { container?: string; permissions?: Record<string, string>; steps: Step[] }>
}

const FOLDER = '.github/workflows'
const about = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string; scripts: Record<string, string> }
const workflows = readdirSync(FOLDER).map(file => {
  const text = readFileSync(`${FOLDER}/${file}`, 'utf8')
  return { file, text, workflow: parse(text) as Workflow }
})
const steps = workflows.flatMap(({ workflow }) => Object.values(workflow.jobs).flatMap(job => job.steps))
const named = (name: string): string => steps.find(step => step.name === name)!.run!

describe('a workflow', () => {
  it('uses actions by the hash of a commit, with the version next to it', () => {
    const uses = workflows.flatMap(({ text }) => text.match(/uses: .*/g) ?? [])
    expect(uses).toHaveLength(steps.filter(step => step.uses !== undefined).length)
    for (const line of uses) expect(line).toMatch(/^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/)
    // One action has one version.
    expect(new Set(uses).size).toBe(new Set(uses.map(line => line.split('@')[0])).size)
  })

  it('runs on the Node of a checkout', () => {
    const { version } = JSON.parse(readFileSync('scripts/node-24/package.json', 'utf8'))
    const nodes = steps.flatMap(step => step.with?.['node-version'] ?? [])
    expect(new Set(nodes)).toEqual(new Set([version]))
    for (const { workflow } of workflows)
      for (const { container } of Object.values(workflow.jobs))
        if (container !== undefined) expect(container).toContain(`node:${version}-`)
  })

  it('may only read, except for the release', () => {
    for (const { workflow } of workflows) expect(workflow.permissions).toEqual({ contents: 'read' })
    const granted = workflows.flatMap(({ file, workflow }) =>
      Object.values(workflow.jobs).flatMap(({ permissions }) =>
        permissions === undefined ? [] : [[file, permissions]],
      ),
    )
    expect(granted).toEqual([['release.yml', { contents: 'write', 'id-token': 'write' }]])
  })

  it('runs scripts that are there', () => {
    const lines = steps.flatMap(step => step.run ?? []).join('\n')
    for (const [, script] of lines.matchAll(/npm run (\S+)/g)) expect(about.scripts).toHaveProperty([script!])
    for (const [file] of lines.matchAll(/(?:\.ci|scripts|packaging)\/[\w./-]+/g))
      expect(readFileSync(file, 'utf8')).not.toBe('')
  })
})

describe('a release', () => {
  it('is of the version that its tag names', () => {
    const check = (GITHUB_REF_NAME: string) => () =>
      execFileSync('sh', ['-c', named('Compare the tag with the version')], {
        env: { ...process.env, GITHUB_REF_NAME },
        stdio: 'pipe',
      })
    expect(check(`v${about.version}`)).not.toThrow()
    expect(check('v99.0.0')).toThrow()
  })

  it('has a formula with its version and the hash of its package', () => {
    const folder = scratch()
    try {
      execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder.path], { stdio: 'pipe' })
      const [tarball] = readdirSync(folder.path)
      const line = named('Write the formula').replaceAll('packaging/', `${process.cwd()}/packaging/`)
      const env = { ...process.env, GITHUB_REF_NAME: `v${about.version}` }
      execFileSync('sh', ['-c', line], { cwd: folder.path, env, stdio: 'pipe' })
      const formula = readFileSync(folder.file('bands.rb'), 'utf8')
      const hash = createHash('sha256')
        .update(readFileSync(folder.file(tarball!)))
        .digest('hex')
      expect(formula).toContain(`url "https://registry.npmjs.org/bands/-/${tarball}"\n  sha256 "${hash}"`)
      expect(formula).not.toContain('@')
    } finally {
      folder.remove()
    }
  })

  it('lists the packages that the package has in it', () => {
    const sbom = JSON.parse(
      execFileSync(process.execPath, ['scripts/sbom.mjs'], { encoding: 'utf8', maxBuffer: 2 ** 26 }),
    )
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { name: 'bands', version: about.version } },
    })
    const names = (sbom.components as { name: string }[]).map(({ name }) => name)
    expect(names).toContain('better-sqlite3')
    expect(names).toContain('@modelcontextprotocol/server')
    expect(names.filter(name => ['vitest', 'typescript', '@duckdb/node-api'].includes(name))).toEqual([])
  })
})
