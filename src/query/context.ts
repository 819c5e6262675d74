import { InvalidParameter, quoted } from '../errors.js'
import { bandValue, fieldValue, tickerValue } from './values.js'

/** A second ticker and its field as one word tells them. */
export interface ShortContext {
  ticker: string
  field: string
  /** In the order of the vocabulary; null: none is named. */
  bands: string[] | null
}

/** `T:F` or `T:F=B,B` in its parts. Throws InvalidParameter, which names the whole word and the part that is wrong. */
export function parseContext(param: string, text: string): ShortContext {
  const [, ticker, name, bands] = /^([^:=]+):([^:=]+)(?:=([^:=]+))?$/.exec(text) ?? []
  if (ticker === undefined || name === undefined) {
    const allowed = 'TICKER:FIELD or TICKER:FIELD=BAND, such as GSPC:trend_direction=downtrend'
    throw new InvalidParameter(`${param} ${quoted(text)} is not ${allowed}.`, { param, value: text, allowed })
  }
  const part = <Value>(word: string, read: () => Value): Value => within(param, text, word, read)
  const field = part(name, () => fieldValue('field', name))
  const chosen = bands?.split(',').map(band => part(band, () => bandValue('band', band, field))) ?? null
  return {
    ticker: part(ticker, () => tickerValue('ticker', ticker)),
    field: field.name,
    bands: chosen && field.bands.filter(band => chosen.includes(band)),
  }
}

/** A refusal of a part, told of the whole word: that is what was typed, and what can be typed instead. */
function within<Value>(param: string, text: string, word: string, read: () => Value): Value {
  try {
    return read()
  } catch (refusal) {
    if (!(refusal instanceof InvalidParameter)) throw refusal
    const { offence, message, brief } = refusal
    const where = `${param} ${quoted(text)}: `
    const suggestions = offence.suggestions?.map(meant => text.replace(word, () => meant)) ?? []
    throw new InvalidParameter(where + message, { ...offence, param, value: text, suggestions }, where + brief)
  }
}
