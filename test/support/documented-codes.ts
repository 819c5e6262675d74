import { readFileSync } from 'node:fs'

export const DOCS = 'docs/library.md'

/** The codes of errors that the docs name, each in the first cell of a row. */
export function documentedCodes(): string[] {
  const text = readFileSync(new URL(`../../${DOCS}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code!)
}
