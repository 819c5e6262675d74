import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type Database from 'better-sqlite3'
import { builtPath } from '../../built.js'
import { StorageError } from '../../errors.js'

// better-sqlite3 13 needs Node 22, and 12 aborts in Node 24.19 and later (nodejs/node#65446). So Node 20 has a 12 of its
// own, which `npm install` compiles there (bin/node-20). The JavaScript of a driver and its compiled module are of one
// major: another one may crash the process instead of throwing.
const OF_NODE_20 = process.versions.node.startsWith('20.')
const load = createRequire(import.meta.url)

/** The driver's major version that this Node needs. */
export const DRIVER_MAJOR = OF_NODE_20 ? 12 : 13

let database: typeof Database | undefined

/** SQLite's driver. Throws StorageError where it is not installed. */
export function driver(): typeof Database {
  database ??= load(script()) as typeof Database
  return database
}

let compiled: object | string | undefined

/** Its compiled module by place: having it looked up costs more than opening a database. Throws StorageError. */
export function compiledModule(): object | string {
  compiled ??= OF_NODE_20 ? compiledForNode20() : compiledForThisMachine()
  return compiled
}

/** The version that is installed, read without loading its compiled module. Throws when there is none. */
export function installedDriver(): string {
  const about: unknown = JSON.parse(readFileSync(join(driverFolder(), 'package.json'), 'utf8'))
  return String((about as { version?: unknown }).version)
}

/** What to say of a compiled module that is missing or does not load. */
export function driverFailure(what: string, cause?: unknown): StorageError {
  const sentence = `better-sqlite3 does not load in Node ${process.versions.node}: ${what.split('\n')[0]}`
  return new StorageError(`${sentence}\n  try:   ${driverRemedy()}`, { cause })
}

/** A line that installs it. */
export function driverRemedy(): string {
  return OF_NODE_20 ? `node ${join(folderOfNode20(), 'install.mjs')}` : `npm install better-sqlite3@${DRIVER_MAJOR}`
}

function driverFolder(): string {
  return OF_NODE_20
    ? join(folderOfNode20(), 'node_modules', 'better-sqlite3')
    : dirname(load.resolve('better-sqlite3/package.json'))
}

/** This code runs from the sources or from a chunk of the bundle. */
function folderOfNode20(): string {
  const places = ['..', '../..', '../../..'].map(up => join(import.meta.dirname, up, 'bin', 'node-20'))
  return places.find(existsSync) ?? places[0]!
}

/** One file where it was bundled, because a dozen take longer to find. */
function script(): string {
  return builtPath(`sqlite-${DRIVER_MAJOR}.js`) ?? driverFolder()
}

function compiledForNode20(): string {
  const path = join(driverFolder(), 'build', 'Release', 'better_sqlite3.node')
  if (!existsSync(path)) throw driverFailure('its compiled module is missing')
  return path
}

/** The package brings a compiled module for each kind of machine, and knows which is this one's. */
function compiledForThisMachine(): object {
  const { getBinding } = load(join(driverFolder(), 'lib', 'binding.js')) as { getBinding: () => object }
  return getBinding()
}
