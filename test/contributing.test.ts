import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** CONTRIBUTING.md names files, constants and functions: each is there under that name. */

const NAMED = [...readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/`([^`\n]+)`/g)].map(([, name]) => name!)
const SOURCES = ['src', 'test']
  .flatMap(folder => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name => `${folder}/${name}`))
  .filter(path => path.endsWith('.ts') && !path.includes('node_modules'))

it('names files that exist', () => {
  const paths = NAMED.filter(name => /^(src|test|scripts|docs|packaging)\/[\w./-]*$/.test(name))
  expect(paths.length).toBeGreaterThan(30)
  expect(paths.filter(path => !existsSync(path))).toEqual([])
  const files = NAMED.filter(name => /^[\w.-]+\.ts$/.test(name) && !existsSync(name))
  expect(files.length).toBeGreaterThan(10)
  expect(files.filter(file => !SOURCES.some(path => path.endsWith(`/${file}`)))).toEqual([])
})

it('names constants and functions that exist', () => {
  const names = NAMED.filter(name => /^([A-Z_]{4,}|[a-z]+([A-Z][a-z]+)+)$/.test(name))
  expect(names.length).toBeGreaterThan(10)
  const code = SOURCES.map(path => readFileSync(path, 'utf8')).join('\n')
  expect(
    names.filter(name => !new RegExp(`(const|function|type|interface) ${name}\\b|\\b${name}:`).test(code)),
  ).toEqual([])
})
