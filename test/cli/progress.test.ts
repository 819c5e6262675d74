import { expect, test } from 'vitest'
import { Progress } from '../../src/cli/context.js'

function drawn(how: 'line' | 'plain' | 'none', times: readonly number[], erase = false): string[] {
  const written: string[] = []
  let now = 0
  const stream = {
    terminal: true,
    columns: () => 30,
    write: async (text: string | Uint8Array) => void written.push(String(text)),
  }
  const progress = new Progress(stream, how, 30, () => now)
  for (const time of times) {
    now = time
    progress.step(() => 'import  a-file-with-a-long-name.csv')
  }
  if (erase) progress.erase()
  return written
}

test('short work shows nothing', () => expect(drawn('line', [0, 100, 499], true)).toEqual([]))

test('the line is drawn after half a second and fits the terminal', () => {
  const [line] = drawn('line', [600])
  expect(line).toBe('\rimport  a-file-with-a-long-na\x1b[K')
})

test('it is drawn at most ten times a second', () => {
  const times = Array.from({ length: 3000 }, (_, i) => i)
  expect(drawn('line', times).length).toBe(25)
})

test('it is erased at the end', () => expect(drawn('line', [600], true).at(-1)).toBe('\r\x1b[K'))

test('plain progress is a line every ten seconds', () => {
  const lines = drawn('plain', [600, 9_999, 10_000, 15_000, 20_100])
  expect(lines).toEqual([
    'import  a-file-with-a-long-name.csv  00:10\n',
    'import  a-file-with-a-long-name.csv  00:20\n',
  ])
})

test('none is silent', () => expect(drawn('none', [600, 20_000], true)).toEqual([]))
