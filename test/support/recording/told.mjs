/** What a case told, as a text that is the same in every recording of the same program. */

import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'

const UUID = /\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g

/** Takes out what differs by nature, and nothing else. */
export class Masks {
  /** [text, placeholder], such as the folder of this run; the first that fits is taken. */
  #texts = []
  #version

  constructor(version, texts) {
    this.#version = new RegExp(`(bands[ /]|"version": ?"|version=")${version.replaceAll('.', '\\.')}`, 'g')
    this.#texts = texts
  }

  /** Keys are random: from here on each has a name, here and in the answer, which is `{ key1: …, id1: … }`. */
  learnKeys(text, known) {
    for (const [key, identity] of text.matchAll(/bands_([0-9A-Za-z]{8})[0-9A-Za-z]{38}/g)) {
      if (Object.values(known).includes(key)) continue
      const n = Object.keys(known).filter(name => name.startsWith('key')).length + 1
      known[`key${n}`] = key
      known[`id${n}`] = identity
      this.#texts.push([key, `bands_<key ${n}>`], [identity, `<key ${n}>`], [`****${key.slice(-4)}`, `****<key ${n}>`])
    }
  }

  /** Other texts of this run, such as an address. */
  add(text, placeholder) {
    this.#texts.push([text, placeholder])
  }

  of(text) {
    let masked = text
    for (const [part, placeholder] of this.#texts) masked = masked.replaceAll(part, placeholder)
    return masked
      .replace(/(127\.0\.0\.1|0\.0\.0\.0):\d{5}\b/g, '$1:<port>')
      .replace(UUID, '<request id>')
      .replace(/"ms":\d+\.\d+/g, '"ms":<ms>')
      .replace(/answers in \d+ ms/g, 'answers in <ms> ms')
      .replace(/\d[\d.,]* [kMGT]B free/g, '<space> free')
      .replace(/^(process_|nodejs_|\w+_seconds)(\S*) \S+$/gm, '$1$2 <measured>')
      .replace(/^ {4}at .*\n/gm, '    at <frame>\n')
      .replace(/(?: {4}at <frame>\n)+/g, '    at <frames>\n')
      .replace(this.#version, '$1<version>')
  }
}

/** Bytes of a stream or file to read: text with its control characters made visible, or what tells other bytes apart. */
export function shown(bytes, masks, name = '') {
  if (!isUtf8(bytes) || bytes.includes(0)) return `(${bytes.length} bytes, sha256 ${sha256(bytes)})\n`
  const text = masks.of(bytes.toString('utf8'))
  if (name.endsWith('.html')) return page(text)
  const visible = text.replaceAll('\x1b', '␛').replaceAll('\r', '␍')
  return visible === '' || visible.endsWith('\n') ? visible : `${visible}␄\n`
}

/** A report: the whole as a hash, its scripts and styles as hashes, its data and its text to look at. */
function page(text) {
  const plain = text
    .replace(/<(script|style)([^>]*)>(.*?)<\/\1>/gs, (_, tag, attributes, content) => {
      const data = attributes.includes('json') ? `\n${content.replace(/"\w+":/g, '\n$&')}\n` : ''
      return `<${tag}${attributes}>(${content.length} characters, sha256 ${sha256(content)})${data}</${tag}>`
    })
    .replace(/(?<!\n)<(?:tr|td|li|div|section|p|svg|g|line|path|circle|rect|text)\b/g, '\n$&')
  return `(page of ${text.length} characters, sha256 ${sha256(text)})\n${plain}\n`
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}
