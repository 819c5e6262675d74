import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { scratch, typed } from '../cli/support/run.js'
import { firstInQuick } from '../support/full.js'

/** A line for each kind of report, on the sample. */
const LINES = {
  sweep: 'bands sweep AAPL --field rsi_zone --horizon 5,20 --tests "bootstrap 99" --validate "split 2016-01-01"',
  study: 'bands study AAPL rsi_zone --band overbought --benchmark GSPC --tests "abnormal market, bootstrap 199"',
  backtest: 'bands backtest AAPL,GSPC rsi_zone --band oversold --hold 20 --stop 8% --benchmark GSPC --tests "draws 99"',
}

const folder = scratch()
afterAll(() => folder.remove())

async function page(line: string, name: string): Promise<string> {
  const file = folder.file(`${name}.html`)
  const { code, err } = await typed(`${line.replace('bands ', '')} --report ${file}`)
  expect(code, err).toBe(0)
  return readFileSync(file, 'utf8')
}

describe.each(firstInQuick(Object.entries(LINES)))('--report of a %s', (kind, line) => {
  it('writes the result that --json prints, and shows the line, the data and their hash', async () => {
    const html = await page(line, kind)
    const json = await typed(`${line.replace('bands ', '')} --json`)
    const [, result] = /id="result">([\s\S]*?)<\/script>/.exec(html)!
    expect(JSON.parse(result!)).toEqual(JSON.parse(json.out))
    // As it is pasted into a shell, and escaped for a page.
    expect(html).toContain(`${line.replaceAll('"', '&#39;')} --report`)
    expect(html).toContain('the sample that comes with bands')
    expect(html).toMatch(/<dt>Hash of inputs<\/dt><dd><code>[0-9a-f]{64}<\/code>/)
  })
})
