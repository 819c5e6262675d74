import { describe, expect, it } from 'vitest'
import { EXPORT_OUTPUTS, type Sink, writeRows } from '../../src/app/cli/formats.js'
import type { Column } from '../../src/core/model/event.js'
import { flowing, Kept } from '../support/drain.js'
import { QUICK } from '../support/full.js'

interface Row {
  name: string | null
  date: string
  count: number | null
  value: number | null
}

const COLUMNS: readonly Column<Row>[] = [
  { name: 'name', kind: 'text', of: row => row.name },
  { name: 'date', kind: 'date', of: row => row.date },
  { name: 'count', kind: 'integer', of: row => row.count },
  { name: 'value', kind: 'number', of: row => row.value },
]

const ROWS: readonly Row[] = [
  { name: 'plain', date: '2018-01-02', count: 1, value: 0.1 + 0.2 },
  { name: 'a "quoted", one\nin lines', date: '1969-12-31', count: -3, value: 5e-324 },
  { name: 'né', date: '2000-02-29', count: 2 ** 31 - 1, value: 1.7976931348623157e308 },
  { name: null, date: '2018-01-03', count: null, value: null },
]

describe('NDJSON', () => {
  it('is one object a line, as JSON prints it', async () => {
    const out = new Kept()
    await writeRows('ndjson', flowing(ROWS), COLUMNS, out)
    expect(out.text.endsWith('}\n')).toBe(true)
    expect(
      out.text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toEqual(ROWS)
  })
})

describe('CSV', () => {
  it('has a header, line feeds, quotes where RFC 4180 wants them, empty for null, every digit of a number', async () => {
    const out = new Kept()
    await writeRows('csv', flowing(ROWS), COLUMNS, out)
    expect(out.text).toBe(
      'name,date,count,value\n' +
        'plain,2018-01-02,1,0.30000000000000004\n' +
        '"a ""quoted"", one\nin lines",1969-12-31,-3,5e-324\n' +
        'né,2000-02-29,2147483647,1.7976931348623157e+308\n' +
        ',2018-01-03,,\n',
    )
  })

  it('has a header even without a row', async () => {
    const out = new Kept()
    await writeRows('csv', flowing<Row>([]), COLUMNS, out)
    expect(out.text).toBe('name,date,count,value\n')
  })
})

describe.each(EXPORT_OUTPUTS)('%s', output => {
  const slow = QUICK && output !== 'ndjson' ? it.skip : it
  slow('never runs ahead of a slow reader', async () => {
    let open = 0
    let most = 0
    let written = 0
    const slow: Sink = {
      async write(chunk) {
        most = Math.max(most, ++open)
        await new Promise(resolve => setTimeout(resolve, 1))
        written += chunk.length
        open--
      },
    }
    await writeRows(output, flowing(numbered(20_000)), COLUMNS, slow)
    expect(most).toBe(1)
    expect(open).toBe(0)
    expect(written).toBeGreaterThan(10_000)
  })

  it('writes nothing when the first row is refused', async () => {
    const out = new Kept()
    await expect(writeRows(output, refused(), COLUMNS, out)).rejects.toThrow('no')
    expect(out.chunks).toEqual([])
  })
})

function* numbered(count: number): Generator<Row> {
  for (let i = 0; i < count; i++) yield { name: `row ${i}`, date: '2018-01-02', count: i, value: i / 3 }
}

async function* refused(): AsyncGenerator<Row> {
  yield await Promise.reject(new Error('no'))
}
