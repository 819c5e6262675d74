import { readFileSync } from 'node:fs'

/** The lines of a file of golden/ that are no remarks: name, two blanks or more, numbers. */
export function golden(file: string): Record<string, number[]> {
  const lines = readFileSync(new URL(`../golden/${file}`, import.meta.url), 'utf8').split('\n')
  return Object.fromEntries(
    lines
      .filter(line => line.trim() !== '' && !line.startsWith('#'))
      .map(line => {
        const [name, numbers] = line.split(/ {2,}/)
        return [name!, numbers!.split(' ').map(Number)]
      }),
  )
}
