'use strict'
// The loader of packs: the build copies it to dist/ with its table of chunks filled in. A chunk is run once, the pack it
// lies in is read when the first of it is asked for, and what is no chunk is asked of node.
const { closeSync, openSync, readFileSync, readSync } = require('node:fs')
const { dirname, join, posix } = require('node:path')
const { Script } = require('node:vm')

/** Chunk → the file it is packed in. */
const PACK_OF = {}

/** How many bytes of the cache tell where in it the packs are. */
const HEAD = 4096
/** The key of what serves any command. */
const ANY = 'any'

const modules = {}
const made = new Map()
const scripts = new Map()

function load(name) {
  const known = made.get(name)
  if (known !== undefined) return known.exports
  const module = { exports: {} }
  made.set(name, module)
  if (!(name in modules)) Object.assign(modules, pack(PACK_OF[name]))
  const path = join(__dirname, name)
  modules[name](module, module.exports, finder(name), path, dirname(path))
  return module.exports
}

/** What `require` is to a chunk. `late`: a module of node's own, loaded when it is first used. */
function finder(name) {
  const find = request => {
    if (!request.startsWith('.')) return require(request)
    // Chunks lie at the top and have names of their own: joining paths would take longer than making most of them.
    const chunk = request.slice(request.lastIndexOf('/') + 1)
    if (chunk in PACK_OF) return load(chunk)
    const other = posix.join(posix.dirname(name), request)
    return other in PACK_OF ? load(other) : require(join(__dirname, other))
  }
  find.late = late
  find.resolve = require.resolve
  return find
}

function late(request) {
  let found
  return () => (found ??= require(request))
}

function pack(file) {
  const filename = join(__dirname, file)
  // Nothing but ASCII is in it, which is read faster as such.
  const script = new Script(readFileSync(filename, 'latin1'), { filename, cachedData: compiled(file) })
  scripts.set(file, script)
  return script.runInThisContext()
}

// Compiling takes longer than reading. A checkout has the compiled code of all packs in one file, for the V8 of its build;
// quick commands have their own in there, without the functions that only others call.
// Without that file, and for any other V8, packs are compiled when they are loaded.
const CACHE = join(__dirname, `v8-${process.versions.v8}.cache`)

/** For the command of this process: file → where in the cache it begins, and how long it is; null before it was looked for. */
let places = null

function compiled(file) {
  places ??= placesOf()
  if (!(file in places)) return undefined
  const [at, length] = places[file]
  return cached(HEAD + at, length)
}

function placesOf() {
  try {
    const byCommand = JSON.parse(cached(0, HEAD).toString('latin1'))
    const command = process.argv.slice(2).find(word => Object.hasOwn(byCommand, word))
    return byCommand[command ?? ANY]
  } catch {
    return {}
  }
}

function cached(at, length) {
  const file = openSync(CACHE)
  try {
    const bytes = Buffer.allocUnsafeSlow(length)
    readSync(file, bytes, 0, length, at)
    return bytes
  } finally {
    closeSync(file)
  }
}

module.exports = Object.assign(load, { made, scripts, CACHE, HEAD, ANY })
