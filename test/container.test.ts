import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scratch } from './cli/support/run.js'

/** What the Dockerfile says, done outside of a container: no engine is needed, and no image is made. */
const folder = scratch()
const root = folder.file('root')
const lines = readFileSync('Dockerfile', 'utf8').matchAll(/^([A-Z]+) (.*)$/gm)
const said = [...lines].map(([, name, words]) => ({ name: name!, words: words! }))
const of = (name: string): string[] => said.filter(line => line.name === name).map(({ words }) => words)
const exec = (words: string): string[] => JSON.parse(words.slice(words.indexOf('[')))

/** Of the image, with the paths of its root below a folder. */
const env: Record<string, string> = Object.fromEntries(
  of('ENV').flatMap(words =>
    words.split(' ').map(pair => pair.replace('=/', `=${root}/`).split('=') as [string, string]),
  ),
)
const path = [folder.file('prefix/bin'), process.env.PATH].join(delimiter)
const options = { cwd: folder.path, env: { PATH: path, HOME: root, ...env } }

beforeAll(() => {
  execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', folder.path], { stdio: 'pipe' })
  mkdirSync(root)
})
afterAll(folder.remove)

describe('the Dockerfile', () => {
  it('copies the package, which is all that .dockerignore lets through', () => {
    const [source, target] = of('COPY').join('\n').split(' ')
    expect([source, target]).toEqual(['bands-*.tgz', '/tmp/'])
    expect(
      readFileSync('.dockerignore', 'utf8')
        .split('\n')
        .filter(line => !/^(#|$)/.test(line)),
    ).toEqual([`*`, `!${source}`])
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(readdirSync(folder.path)).toContain(source!.replace('*', version))
  })

  it('begins with the Node of a checkout', () => {
    const { version } = JSON.parse(readFileSync('scripts/node-24/package.json', 'utf8'))
    expect(of('FROM')).toEqual([`node:${version}-slim`])
  })

  it('installs it without the network, and runs as a user of its own', () => {
    const [install, user] = of('RUN')
    expect(install).toBe('npm install --global --offline /tmp/bands-*.tgz && rm /tmp/bands-*.tgz')
    const here = install!
      .replaceAll('/tmp/', `${folder.path}/`)
      .replace('--global', `--global --prefix ${folder.file('prefix')}`)
    execFileSync('sh', ['-c', here], { ...options, stdio: 'pipe' })
    expect(readdirSync(folder.path).filter(name => name.endsWith('.tgz'))).toEqual([])
    expect(user).toContain(` ${of('USER')[0]} && install --directory --owner ${of('USER')[0]} ${of('VOLUME')[0]}`)
  })

  it('answers from the sample, and keeps the data of an import in its volume', () => {
    const bands = (...words: string[]) =>
      execFileSync(exec(of('ENTRYPOINT')[0]!)[0]!, words, { ...options, encoding: 'utf8', stdio: 'pipe' })
    expect(JSON.parse(bands('tally', 'AAPL', 'rsi_zone', '--json')).events).toBeGreaterThan(100)
    bands('import', join(process.cwd(), 'data/bars/AAPL.csv'))
    expect(existsSync(join(root, 'data/bands/bands.db'))).toBe(true)
    expect(readdirSync(root).filter(name => name !== '.npm')).toEqual(['data'])
  })

  it('is healthy while it serves, and not after it', async () => {
    const [program, ...words] = [...exec(of('ENTRYPOINT')[0]!), ...exec(of('CMD')[0]!), '--port', '0']
    const server: ChildProcess = spawn(program!, words, { ...options, stdio: ['ignore', 'pipe', 'ignore'] })
    const [line] = (await once(createInterface(server.stdout!), 'line')) as [string]
    const [port] = /(?<=:)\d+/.exec(line)!
    expect(of('EXPOSE')).toEqual(['8080'])
    const check = exec(of('HEALTHCHECK')[0]!).map(word => word.replace(':8080/', `:${port}/`))
    const healthy = () => spawnSync(check[0]!, check.slice(1), options).status
    expect(healthy()).toBe(0)
    server.kill('SIGTERM')
    expect(await once(server, 'exit')).toEqual([0, null])
    expect(healthy()).toBe(1)
  })
})
