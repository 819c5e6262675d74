#!/usr/bin/env node
/**
 * Records what the program prints, so that a restructuring can be proven to change no byte of it.
 *
 *   node test/support/recording/record.mjs --build DIR --out FOLDER [--only PATTERN]
 *   node test/support/recording/record.mjs --compare OLD NEW [--only CLASS]
 *
 * DIR is a checkout that is built (bin, dist, node_modules, data). Each case of cases.mjs becomes a file of FOLDER, by
 * class. PATTERN is a regular expression of `class/name`; a class is run whole, because cases stand on those before.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { CLASSES, UNIVERSE } from './cases.mjs'
import { compare } from './compare.mjs'
import { FILES } from './files.mjs'
import { NO_WORDS, unescaped } from './notation.mjs'
import { ask, askRaw, hasTerminals, LIBRARY, run } from './running.mjs'
import { openServers } from './servers.mjs'
import { Masks, shown } from './told.mjs'

const SHARED = fileURLToPath(new URL('../../../../shared/data', import.meta.url))
/** The machine has few cores, and others work on it. */
const AT_ONCE = 2

const say = text => process.stdout.write(`${text}\n`)

/** What all classes stand on, made anew for each recording: the build under a path of constant length, and data. */
class Ground {
  constructor(build) {
    this.build = realpathSync(build)
    this.folder = mkdtempSync(join(realpathSync(tmpdir()), 'bands-recording-'))
    this.bin = join(this.folder, 'build/bin/bands.js')
    this.shared = existsSync(SHARED)
    this.terminals = hasTerminals()
    this.version = JSON.parse(readFileSync(join(this.build, 'package.json'), 'utf8')).version
    for (const part of ['bin', 'dist', 'package.json'])
      cpSync(join(this.build, part), join(this.folder, 'build', part), { recursive: true })
    symlinkSync(join(this.build, 'node_modules'), join(this.folder, 'build/node_modules'))
    cpSync(join(this.build, 'data/bars'), join(this.folder, 'bars'), { recursive: true })
  }

  env(folder) {
    const { PATH = '' } = process.env
    return { PATH, HOME: join(folder, 'home'), TMPDIR: join(folder, 'tmp'), LANG: 'C.UTF-8', TERM: 'xterm', TZ: 'UTC' }
  }

  /** Databases: `own` of the bundled bars and simulated companies, `real` of the shared data. */
  async prepare() {
    await this.#bands('simulate 8 --bars 600 --end 2018-05-11 --load --db own.db')
    await this.#bands('import bars --db own.db')
    if (!this.shared) return
    for (const part of ['vendor-formats', 'fundamentals'])
      cpSync(join(SHARED, part), join(this.folder, part), { recursive: true })
    mkdirSync(join(this.folder, 'prices'))
    for (const name of ['AAPL', 'GSPC'])
      cpSync(join(SHARED, `prices/${name}.csv`), join(this.folder, `prices/${name}.csv`))
    const [header, ...rows] = gunzipSync(readFileSync(join(SHARED, 'prices/universe.csv.gz')))
      .toString('utf8')
      .split('\n')
    const wanted = rows.filter(row => UNIVERSE.includes(row.slice(0, row.indexOf(','))))
    writeFileSync(join(this.folder, 'prices/universe.csv'), `${[header, ...wanted].join('\n')}\n`)
    await this.#bands('import prices/GSPC.csv prices/universe.csv --bad-rows skip --db real.db')
    await this.#bands('import fundamentals/earnings.csv fundamentals/securities.csv --db real.db')
    await this.#bands('import fundamentals/quarterly.csv fundamentals/analyst_ratings.csv --db real.db')
  }

  async #bands(line) {
    const { code, err } = await run([this.bin, ...line.split(' ')], { cwd: this.folder, env: this.env(this.folder) })
    if (code !== 0) throw new Error(`bands ${line}: ${code}\n${err}`)
  }

  /** A folder with what a class asks for in it. */
  folderFor(name, { db, files = [], server }) {
    const folder = join(this.folder, name)
    for (const part of ['home', 'tmp']) mkdirSync(join(folder, part), { recursive: true })
    if (db !== undefined) cpSync(join(this.folder, `${db}.db`), join(folder, 'my.db'))
    if (server) cpSync(join(this.folder, 'own.db'), join(folder, 'served.db'))
    for (const file of files) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      writeFileSync(join(folder, file), FILES[file], { mode: 0o600 })
    }
    return folder
  }

  remove() {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Runs the cases of a class one after another and writes those that are wanted. */
class Recorder {
  #ground
  #name
  #folder
  #env
  #masks
  /** What stands for `{…}` in the words of a case: addresses, keys, an ETag. */
  #known = {}

  constructor(ground, name, asked) {
    this.#ground = ground
    this.#name = name
    this.#folder = ground.folderFor(name, asked)
    const db = asked.db === undefined ? {} : { BANDS_DB: 'my.db' }
    this.#env = { ...ground.env(this.#folder), ...db, ...asked.env }
    this.#masks = new Masks(ground.version, [
      [join(ground.folder, 'build'), '<build>'],
      [this.#folder, '<here>'],
      [ground.folder, '<tmp>'],
      [ground.build, '<build>'],
    ])
  }

  async record(asked, write) {
    const lent = { bin: this.#ground.bin, cwd: this.#folder, env: this.#env, known: this.#known, masks: this.#masks }
    const servers = asked.server ? await openServers(lent) : null
    let number = 0
    const add = (title, text) => {
      number += 1
      write(`${this.#name}/${String(number).padStart(3, '0')}-${slug(title)}.txt`, text)
    }
    try {
      for (const each of asked.cases) {
        if (each.line === 'LIBRARY') await this.#library(add)
        else if (each.terminal && !this.#ground.terminals) add(each.title, '(skipped: no python3 with pty)\n')
        else add(each.title, await this.#told(each))
      }
    } finally {
      await servers?.close()
    }
    if (asked.log) add('log of the server', shown(Buffer.from(servers.log()), this.#masks))
  }

  #told(each) {
    if (/^(GET|HEAD|POST|DELETE|OPTIONS) /.test(each.line)) return this.#request(each)
    return each.line.startsWith('RAW ') ? this.#raw(each) : this.#command(each)
  }

  async #command({ line, env, reads, stdin, terminal, until }) {
    const words = line === NO_WORDS ? [] : split(this.#filled(line))
    const ran = await run([this.#ground.bin, ...words], {
      terminal,
      until,
      stdin: stdin === undefined ? undefined : this.#filled(stdin),
      cwd: this.#folder,
      env: this.#filledAll({ ...this.#env, ...env }),
    })
    this.#masks.learnKeys(ran.out.toString(), this.#known)
    const files = reads.flatMap(file => filesOf(this.#folder, file))
    return [
      `$ bands ${line}\n`,
      ...Object.entries(env).map(([name, value]) => `with ${name}=${value}\n`),
      ...(terminal ? [`on a terminal of ${terminal} columns\n`] : []),
      `=== exit ${ran.code}\n`,
      ...section('stdout', shown(ran.out, this.#masks)),
      ...section('stderr', shown(ran.err, this.#masks)),
      ...files.flatMap(file => section(`file ${file}`, this.#read(file))),
    ].join('')
  }

  #read(file) {
    const path = join(this.#folder, file)
    return existsSync(path) ? shown(readFileSync(path), this.#masks, file) : '(not there)\n'
  }

  async #request({ line, key, of = 'url', headers, times = 1 }) {
    const [method, path] = split(line)
    const bearer = key === undefined ? {} : { Authorization: `Bearer ${this.#known[key] ?? key}` }
    let answer
    for (let i = 0; i < times; i++)
      answer = await ask(this.#known[of], {
        method,
        path: this.#filled(path),
        headers: { ...bearer, ...this.#filledAll(headers) },
      })
    this.#known.etag = answer.headers.find(([name]) => name.toLowerCase() === 'etag')?.[1] ?? ''
    const told = answer.headers.map(([name, value]) => `${name}: ${value}\n`).join('')
    // Its length is that of what was measured.
    const masked = path === '/metrics' ? told.replace(/^(Content-Length): \d+/m, '$1: <length>') : told
    const asked = [`key ${key ?? 'none'}`, ...(of === 'url' ? [] : [of]), ...(times === 1 ? [] : [`${times} times`])]
    return [
      `${line}\n${asked.join(', ')}\n`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`),
      ...section(answer.status, this.#masks.of(masked)),
      ...section('body', shown(answer.body, this.#masks)),
    ].join('')
  }

  async #raw({ line }) {
    const bytes = unescaped(line.slice('RAW '.length).replace(/\{b\*(\d+)\}/, (_, n) => 'b'.repeat(Number(n))))
    return `${line}\n=== answer\n${shown(await askRaw(this.#known.url, bytes), this.#masks)}`
  }

  /** Each call of the library's script is a case. */
  async #library(add) {
    const { url, pro } = this.#known
    const index = join(dirname(this.#ground.bin), '../dist/index.js')
    const ran = await run([LIBRARY, index, url, pro], { cwd: this.#folder, env: this.#env })
    for (const line of ran.out.toString().split('\n').slice(0, -1)) {
      const { name, ...told } = JSON.parse(line)
      add(name, shown(Buffer.from(`${JSON.stringify(told, null, 2)}\n`), this.#masks))
    }
    add('end', `=== exit ${ran.code}\n=== stderr\n${shown(ran.err, this.#masks)}`)
  }

  #filledAll(texts) {
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, this.#filled(text)]))
  }

  #filled(text) {
    return text.replace(/\{(\w+)\}/g, (whole, name) => this.#known[name] ?? whole)
  }
}

const section = (title, text) => [text === '' ? `=== ${title} (nothing)\n` : `=== ${title}\n`, text]

/** Words as a shell splits them: quotes keep blanks. */
function split(line) {
  return [...line.matchAll(/(?:[^\s'"]+|'[^']*'|"[^"]*")+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, single, double) => single ?? double),
  )
}

function slug(line) {
  const words = line.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return words.replace(/^-+|-+$/g, '').slice(0, 80) || 'nothing'
}

/** A file, or the files of a folder. */
function filesOf(folder, name) {
  const path = join(folder, name)
  if (!existsSync(path) || !statSync(path).isDirectory()) return [name]
  return readdirSync(path)
    .sort()
    .map(file => join(name, file))
}

async function record(build, out, pattern) {
  const wanted = new RegExp(pattern)
  const ground = new Ground(build)
  const began = performance.now()
  const counts = []
  try {
    await ground.prepare()
    const queue = Object.entries(CLASSES)
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [name, asked] = next
        if (pattern !== '' && !namesOf(name, asked).some(each => wanted.test(each))) continue
        if (asked.shared && !ground.shared) {
          say(`${name}: skipped, there is no shared data beside the project`)
          continue
        }
        counts.push(
          await recordClass(ground, [name, asked], (file, text) => {
            if (!wanted.test(file)) return false
            mkdirSync(join(out, name), { recursive: true })
            writeFileSync(join(out, file), text)
            return true
          }),
        )
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  } finally {
    ground.remove()
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(0)
  say(`${counts.reduce((sum, count) => sum + count, 0)} cases in ${seconds} s`)
}

/** Class and name of cases as files have them, but for the number. */
function namesOf(name, { cases }) {
  return [`${name}/`, ...cases.map(({ title }) => `${name}/${slug(title)}`)]
}

async function recordClass(ground, [name, asked], write) {
  const began = performance.now()
  let count = 0
  await new Recorder(ground, name, asked).record(asked, (file, text) => {
    if (write(file, text)) count += 1
  })
  say(`${name}: ${count} cases in ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return count
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    build: { type: 'string' },
    out: { type: 'string' },
    only: { type: 'string', default: '' },
    compare: { type: 'boolean', default: false },
  },
})
if (values.compare && positionals.length === 2) {
  process.exitCode = compare(...positionals, values.only) === 0 ? 0 : 1
} else if (values.build !== undefined && values.out !== undefined) {
  await record(resolve(values.build), resolve(values.out), values.only)
} else {
  say('record.mjs --build DIR --out FOLDER [--only PATTERN] | --compare OLD NEW [--only CLASS]')
  process.exitCode = 2
}
