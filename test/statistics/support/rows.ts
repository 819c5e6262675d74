import { readFileSync } from 'node:fs'

/** The lines of a file of golden/ that are no remarks, in words. */
export function goldenRows(file: string): string[][] {
  const text = readFileSync(new URL(`../golden/${file}`, import.meta.url), 'utf8')
  const lines = text.split('\n').filter(line => line.trim() !== '' && !line.startsWith('#'))
  return lines.map(line => line.split(/ +/))
}

/** How far a number is from the one that is expected, as a part of it; the distance itself from 0. */
export function distance(value: number, expected: number): number {
  return Math.abs(value - expected) / (expected === 0 ? 1 : Math.abs(expected))
}
