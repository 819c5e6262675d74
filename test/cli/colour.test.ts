import { describe, expect, test } from 'vitest'
import { type ColourFlag, isColoured } from '../../src/cli/world.js'

const CASES: readonly [ColourFlag, Record<string, string>, terminal: boolean, coloured: boolean][] = [
  ['auto', {}, true, true],
  ['auto', {}, false, false],
  ['always', { NO_COLOR: '1' }, false, true],
  ['never', { FORCE_COLOR: '1' }, true, false],
  ['auto', { NO_COLOR: '1' }, true, false],
  ['auto', { NO_COLOR: '' }, true, true],
  ['auto', { NO_COLOR: '1', FORCE_COLOR: '1' }, true, false],
  ['auto', { FORCE_COLOR: '1' }, false, true],
  ['auto', { FORCE_COLOR: '0' }, true, false],
  ['auto', { CLICOLOR_FORCE: '1' }, false, true],
  ['auto', { CLICOLOR_FORCE: '0' }, false, false],
  ['auto', { TERM: 'dumb' }, true, false],
  ['auto', { CLICOLOR: '0' }, true, false],
  ['auto', { TERM: 'dumb', FORCE_COLOR: '1' }, true, true],
]

describe('a stream is coloured', () => {
  test.each(CASES)('--color %s with %j on a terminal (%s): %s', (flag, env, terminal, coloured) => {
    expect(isColoured(flag, env, terminal)).toBe(coloured)
  })
})
