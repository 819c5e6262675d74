import { describe, expect, test } from 'vitest'
import { drawBars, drawChart, drawLine, drawLines, sparkline } from '../../src/cli/draw/chart.js'

describe('a sparkline', () => {
  test('rises with its values, from the lowest step to the highest', () => {
    expect(sparkline([1, 2, 3, 4, 5, 6, 7, 8], { width: 8, ascii: false })).toBe('▁▂▃▄▅▆▇█')
    expect(sparkline([1, 2, 3, 4, 5, 6, 7, 8], { width: 8, ascii: true })).toBe('.:-=+*#@')
  })

  test('is as wide as it is told at most, and ends in the last value', () => {
    const values = Array.from({ length: 1000 }, (_, i) => (i === 999 ? 10 : 0))
    const drawn = sparkline(values, { width: 20, ascii: true })
    expect(drawn).toBe(`${'.'.repeat(19)}@`)
    expect(sparkline([3], { width: 20, ascii: true })).toHaveLength(1)
  })

  test('of a flat line runs in the middle, and of nothing is nothing', () => {
    expect(sparkline([5, 5, 5], { width: 9, ascii: false })).toBe('▄▄▄')
    expect(sparkline([], { width: 9, ascii: false })).toBe('')
  })
})

describe('bars', () => {
  const bars = [
    { label: '-1..+0', value: 1, text: '1' },
    { label: '+0..+1', value: 4, text: '4 of 5' },
    { label: '+1..+2', value: 0, text: '0' },
  ]

  test('are as long as their values say, and fit', () => {
    const drawn = drawBars(bars, { width: 30, ascii: true })
    expect(drawn).toEqual(['-1..+0 |#### 1', '+0..+1 |############## 4 of 5', '+1..+2 |0'])
    for (const width of [40, 80, 120])
      for (const line of drawBars(bars, { width, ascii: false })) expect([...line].length).toBeLessThanOrEqual(width)
  })

  test('of blocks are an eighth of a character fine, and show the least value', () => {
    const [first] = drawBars(
      [
        { label: 'a', value: 1, text: '' },
        { label: 'b', value: 1000, text: '' },
      ],
      {
        width: 30,
        ascii: false,
      },
    )
    expect(first).toBe('a │▏')
  })
})

describe('a chart', () => {
  const options = { width: 40, height: 5, ascii: true, label: (value: number) => value.toFixed(1), beneath: [] }

  test('labels the highest, the middle and the lowest value', () => {
    const drawn = drawChart([{ values: [0, 1, 2, 3, 4] }], options)
    expect(drawn.map(line => line.split('|')[0]!.trim())).toEqual(['4.0', '', '2.0', '', '0.0', ''])
  })

  test('puts words beneath their places, and leaves out those that would touch', () => {
    const beneath = [
      { at: 0, text: '-20' },
      { at: 0.02, text: '-19' },
      { at: 1, text: '+100' },
    ]
    const last = drawChart([{ values: [1, 2] }], { ...options, beneath }).at(-1)!
    expect(last).toMatch(/^ {5}-20 {28}\+100$/)
  })

  test('draws several lines on one scale, the dotted one thinner, and breaks where nothing is known', () => {
    const whole = drawLine([0, 1, 2, 3], { width: 20, height: 4, ascii: true })
    expect(drawLines([{ values: [0, 1, 2, 3] }], { width: 20, height: 4, ascii: true })).toEqual(whole)
    const ink = (rows: readonly string[]): number => rows.join('').replaceAll(' ', '').length
    const dotted = drawLines([{ values: [0, 1, 2, 3], dotted: true }], { width: 20, height: 4, ascii: true })
    expect(ink(dotted)).toBeLessThan(ink(whole))
    const broken = drawLines([{ values: [0, null, null, 3] }], { width: 20, height: 4, ascii: true })
    expect(ink(broken)).toBe(2)
  })

  test('is nothing where no value is known', () => {
    expect(drawChart([{ values: [null, null] }], options)).toEqual([])
  })
})
