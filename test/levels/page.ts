import { readFileSync, writeFileSync } from 'node:fs'

/** What the proofs of this folder found. */
export const PAGE = 'test/levels/tables.md'

/** Whether the tables of the page are written again. */
export const WRITES = process.env.BANDS_WRITE === '1'

/** A table of the page by cells, the heading first. @param name of its marks */
export function tableOnPage(name: string): string[][] {
  const [heading, , ...rows] = (parts(name)[1] ?? '').trim().split('\n')
  return [heading ?? '', ...rows].map(row =>
    row
      .slice(1, -1)
      .split('|')
      .map(cell => cell.trim()),
  )
}

export function writeTable(name: string, heading: readonly string[], rows: readonly (readonly string[])[]): void {
  const [before = '', , after = ''] = parts(name)
  const lines = [heading, heading.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
  writeFileSync(PAGE, `${before}<!-- ${name} -->\n${lines.join('\n')}\n<!-- /${name} -->${after}`)
}

/** Before the table, the table, after it. */
function parts(name: string): string[] {
  return readFileSync(PAGE, 'utf8').split(new RegExp(`<!-- /?${name} -->`))
}

export function inPercent(share: number): string {
  return `${(100 * share).toFixed(1)}%`
}

export function fromPercent(text: string): number {
  return Number(text.replace('%', '')) / 100
}

/** The share of n tests that found something. */
export interface Share {
  share: number
  n: number
}

/**
 * Whether two shares differ by no more than chance allows: four standard errors of the difference, and the rounding of the
 * page. Tests of the same prices resemble each other, so that two count as one.
 */
export function agree(a: Share, b: Share): boolean {
  const pooled = (a.share * a.n + b.share * b.n + 1) / (a.n + b.n + 2)
  const error = Math.sqrt(2 * pooled * (1 - pooled) * (1 / a.n + 1 / b.n))
  return Math.abs(a.share - b.share) <= 4 * error + 0.0005
}
