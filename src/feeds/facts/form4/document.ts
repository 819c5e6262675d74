import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { BadData, type Place } from '../../../errors.js'
import { type Day, parseDay } from '../../../model/day.js'

/** Under which the parser keeps the place of an element. */
const META = XMLParser.getMetaDataSymbol() as unknown as symbol

/** The XML of a form, where in its file it starts, and when it was filed, where the file tells. */
export interface Form {
  text: string
  linesBefore: number
  filed: Day | null
}

/** An element: its children by name, one or a list of them; one that has text alone is the text. */
export type Element = Readonly<Record<string | symbol, unknown>>

/** A submission wraps the document in a header of its own, which has the filing date. */
export function documentIn(content: string): Form {
  const start = content.indexOf('<ownershipDocument')
  const end = content.lastIndexOf('</ownershipDocument>')
  if (!/^\s*(<SEC-DOCUMENT>|-----BEGIN)/.test(content) || start < 0 || end < 0)
    return { text: content, linesBefore: 0, filed: null }
  const header = content.slice(0, start)
  const date = /^FILED AS OF DATE:\s*(\d{4})(\d{2})(\d{2})\s*$/m.exec(header)
  const filed = date === null ? null : parseDay(date.slice(1).join('-'))
  const text = content.slice(start, end + '</ownershipDocument>'.length)
  return { text, linesBefore: header.split('\n').length - 1, filed }
}

/** The root of a well-formed ownership document; entities of its own are refused, as they can make a small file huge. */
export function rootOf(file: string, { text, linesBefore }: Form): Element {
  if (/<!DOCTYPE/i.test(text)) throw new BadData({ file }, 'the XML declares a document type, which no Form 4 does')
  const verdict = XMLValidator.validate(text)
  if (verdict !== true) {
    const { line, col, msg } = verdict.err
    throw new BadData({ file, line: line + linesBefore, column: col ?? 1 }, `the XML is not well formed: ${msg}`)
  }
  const document: unknown = new XMLParser({
    ignoreAttributes: true,
    ignoreDeclaration: true,
    ignorePiTags: true,
    removeNSPrefix: true,
    parseTagValue: false,
    captureMetaData: true,
  }).parse(text)
  const names = isElement(document) ? Object.keys(document) : []
  const root = isElement(document) ? document.ownershipDocument : undefined
  if (isElement(root) && names.length === 1) return root
  if (names.includes('ownershipDocument')) throw new BadData({ file }, 'the form is empty, or not alone in its file')
  throw new BadData({ file }, `this is an XML document (${names.join(', ')}), not a Form 4 of the SEC`)
}

/** The text of the element at a path, null where there is none or it is empty. */
export function textAt(element: Element, ...path: string[]): string | null {
  const found = path.reduce<unknown>((at, name) => (isElement(at) ? at[name] : undefined), element)
  const text = isElement(found) ? found['#text'] : found
  return typeof text === 'string' && text !== '' ? text : null
}

/** The elements at a path; the parser gives a single one bare. */
export function childrenOf(element: Element, ...path: string[]): Element[] {
  const found = path.reduce<unknown>((at, name) => (isElement(at) ? at[name] : undefined), element)
  return (Array.isArray(found) ? found : [found]).filter(isElement)
}

function isElement(value: unknown): value is Element {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Where an element starts, for a message. */
export function locate(file: string, { text, linesBefore }: Form, element: Element): Place {
  const data = element[META] as { startIndex?: number } | undefined
  const before = text.slice(0, data?.startIndex ?? 0).split('\n')
  return { file, line: linesBefore + before.length, column: before.at(-1)!.length + 1 }
}
