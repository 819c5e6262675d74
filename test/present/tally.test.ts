import { describe, expect, it } from 'vitest'
import { blocksOf } from '../../src/app/cli/draw/described.js'
import { blocksText } from '../../src/app/cli/draw/table.js'
import { UNPAINTED } from '../../src/app/cli/draw/text.js'
import { describeTally } from '../../src/app/present/tally.js'
import type { Tally } from '../../src/research/tally/tally.js'
import { madeTally } from '../support/results/tally.js'

const RANKS = ['---', '--', '-', '=', '+', '++', '+++']

/** A tally with the same shares of more events. */
function timesMore(tally: Tally, factor: number): Tally {
  const counts = (of: Record<string, number>) => Object.fromEntries(Object.entries(of).map(([k, n]) => [k, n * factor]))
  const groups = tally.groups.map(group => ({
    ...group,
    windows: group.windows.map(window => ({ ...window, n: window.n * factor, counts: counts(window.counts) })),
  }))
  return { ...tally, groups: groups as Tally['groups'] }
}

async function drawn(tally: Tally, width: number, wide = false): Promise<string> {
  const screen = { width, isPiped: false, unicode: true, paint: UNPAINTED }
  return blocksText(blocksOf(describeTally(tally), screen, { wide }), screen)
}

describe('the ranks of a tally', () => {
  it.each([1, 10, 100, 900])('are all shown on 80 columns, %d hundred events', async factor => {
    const text = await drawn(timesMore(madeTally(), factor), 80)
    const header = text.split('\n').find(line => line.startsWith('DAYS'))!
    expect(header.split(/ +/)).toEqual(expect.arrayContaining(RANKS))
  })

  it('are numbers of events below a thousand, otherwise shares', async () => {
    expect(await drawn(madeTally(), 120)).toMatch(/^5 +102 +61 +8 +14 +18 +17 +18 +15 +10 /m)
    expect(await drawn(timesMore(madeTally(), 10), 120)).toMatch(/^5 +1,020 +61 +8% +14% +18% +17% +18% +15% +10% /m)
  })

  it('that a narrow terminal hides are named in words, with the option that shows them', async () => {
    const text = (await drawn(madeTally(), 66)).replaceAll('\n', ' ')
    expect(text).toContain('= (flat) hidden (terminal too narrow); --wide shows every column')
    expect(await drawn(madeTally(), 66, true)).not.toContain('hidden')
  })
})
