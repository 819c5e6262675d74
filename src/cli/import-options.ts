import type { ImportOptions } from '../local/import-report.js'
import { dayValue, wordValue } from '../query/values.js'
import type { Context } from './context.js'
import type { Given } from './given.js'
import { bytes } from './render/amounts.js'

/** What was typed about how to read files, and where to tell how far it is. */
export function importOptions(context: Context, given: Given): ImportOptions {
  const hints = Object.entries({
    format: given.text('format'),
    delimiter: given.text('delimiter'),
    dateFormat: given.text('date-format'),
    decimal: given.text('decimal'),
    header: given.text('header'),
  }).filter(([, value]) => value !== undefined)
  const ticker = given.text('ticker')
  const prices = given.text('prices')
  const known = given.text('known')
  return {
    ...(ticker === undefined ? {} : { ticker }),
    ...(prices === undefined ? {} : { prices: wordValue('prices', prices, ['adjusted', 'raw'] as const) }),
    ...(known === undefined ? {} : { known: dayValue('known', known) }),
    skipBadRows: given.flag('skip-bad-rows'),
    replace: given.flag('replace'),
    hints: Object.fromEntries(hints),
    ...(given.rest(0).includes('-') ? { stdin: context.world.stdin() } : {}),
    onProgress: ({ file, stage, done, of, rows }) =>
      context.step(() => {
        const units = stage === 'settling' ? 'steps' : 'tickers'
        const far = stage === 'reading' ? bytes(done, of) : `${done}/${of ?? '?'} ${units}`
        return `${stage}  ${file}  ${far}  ${rows.toLocaleString('en-US')} rows`
      }),
  }
}
