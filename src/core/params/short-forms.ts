import { didYouMean, InvalidParameter, sentence, wrong } from '../errors.js'
import { percent } from '../numbers.js'
import { isMapping } from './arguments.js'
import { numberOf, shareOf } from './figures.js'
import { CONDITION, CONDITION_BANDS } from './kinds.js'
import { DEFAULT_SCOPE, type Kind, plainText, type Scope, type Text, type Written } from './row.js'
import { refuse, textOf } from './values.js'

/** Costs, sizes and exits as one text each, the same on a command line, in a program and in a strategy file. */

export const MONEY = numberOf({ minimum: 0 }, 'MONEY')
export const BASIS_POINTS = numberOf({ minimum: 0, exclusiveMaximum: 10_000 }, 'BP')
export const BORROW = shareOf({ minimum: 0, exclusiveMaximum: 10 }, 'RATE')
export const SHARE_UP_TO_1 = shareOf({ exclusiveMinimum: 0, maximum: 1 }, 'SHARE')
export const TARGET = shareOf({ exclusiveMinimum: 0, maximum: 10 }, 'RATE')

/** A text that is read as a mapping of keys. */
interface TextForm extends Kind<Written, Text> {
  toDocumentForm(param: string, text: string): Written
}

/** A kind whose text is read as a mapping. @param read makes the mapping */
function textForm(placeholder: string, example: string, read: (param: string, text: string) => Written): TextForm {
  return {
    schema: { type: ['string', 'number'], examples: [example] },
    placeholder,
    parse: (param, written) => (isMapping(written) ? written : read(param, plainText(param, written))),
    toDocumentForm: read,
  }
}

interface CostValues {
  readonly bps: number
  readonly slippage_bps: number
  readonly per_share: number
  readonly fixed: number
  readonly borrow: number
}

const NO_COSTS: CostValues = { bps: 0, slippage_bps: 0, per_share: 0, fixed: 0, borrow: 0 }
const COST_WORDS = {
  slip: ['slippage_bps', BASIS_POINTS],
  share: ['per_share', MONEY],
  fixed: ['fixed', MONEY],
  borrow: ['borrow', BORROW],
} as const
const COSTS_EXAMPLE = '5bp,slip 2bp,share 0.005,fixed 1,borrow 3%'

/** `10bp` and `0.1%` are ten basis points; other text stays as it is. */
function asBasisPoints(word: string): string {
  const share = /^(\d*\.?\d+)%$/.exec(word)?.[1]
  return share === undefined ? word.replace(/bps?$/, '') : String(Number((100 * Number(share)).toPrecision(12)))
}

/** Costs as a text of parts, separated by commas or spaces. Only named costs come back; `none` is all of them, 0. */
export const COSTS_TEXT = textForm('COSTS', COSTS_EXAMPLE, (param, text) => {
  if (text.trim() === 'none') return { ...NO_COSTS }
  const words = text.split(/[\s,]+/).filter(word => word !== '')
  const costs: Record<string, number> = {}
  const setCost = (key: string, kind: Kind<number>, word: string | undefined): void => {
    if (word === undefined || key in costs) refuse(param, text, `parts such as ${COSTS_EXAMPLE}, each once`)
    costs[key] = kind.parse(param, exactNumber(kind === BASIS_POINTS ? asBasisPoints(word) : word))
  }
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (Object.hasOwn(COST_WORDS, word)) {
      const [key, kind] = COST_WORDS[word as keyof typeof COST_WORDS]
      setCost(key, kind, words[++at])
    } else if (/^-?\d/.test(word)) {
      // `5 bp` in two words.
      const isUnitNext = /^bps?$/.test(words[at + 1] ?? '')
      if (isUnitNext) at++
      setCost('bps', BASIS_POINTS, isUnitNext ? `${word}bp` : word)
    } else refuse(param, text, `parts such as ${COSTS_EXAMPLE}`)
  }
  if (words.length === 0) refuse(param, text, `parts such as ${COSTS_EXAMPLE}`)
  return costs
})

/** Costs as the shortest text that COSTS_TEXT reads. */
export function costsText({ bps, slippage_bps, per_share, fixed, borrow }: CostValues): string {
  return [
    `${bps}bp`,
    slippage_bps === 0 ? '' : `slip ${slippage_bps}bp`,
    per_share === 0 ? '' : `share ${per_share}`,
    fixed === 0 ? '' : `fixed ${fixed}`,
    borrow === 0 ? '' : `borrow ${shareText(borrow)}`,
  ]
    .filter(part => part !== '')
    .join(',')
}

/**
 * The size of a position as a share of equity. equal: 1 / max_positions. vol-target: target / (NATR at the signal ·
 * √bars a year), at most `cap`.
 */
export type Size =
  | { method: 'equal' }
  | { method: 'fixed-fraction'; fraction: number }
  | { method: 'vol-target'; target: number; cap: number }

const SIZES_TEXT = 'equal, a share of the equity such as 10%, or a volatility a year such as vol 15% or vol 15% max 50%'

export const SIZE_TEXT = textForm('SIZE', 'vol 15% max 50%', (param, text) => {
  const [word = '', target, max, cap, fifthWord] = text.trim().split(/[\s,]+/)
  if (word === 'equal' && target === undefined) return { method: 'equal' }
  if (/^-?\d/.test(word) && target === undefined)
    return { method: 'fixed-fraction', fraction: SHARE_UP_TO_1.parse(param, exactNumber(word)) }
  const isCapGood = max === undefined || (max === 'max' && cap !== undefined && fifthWord === undefined)
  if (word !== 'vol' || target === undefined || !isCapGood) return refuse(param, text, SIZES_TEXT)
  return {
    method: 'vol-target',
    target: TARGET.parse(param, exactNumber(target)),
    cap: cap === undefined ? 1 : SHARE_UP_TO_1.parse(param, exactNumber(cap)),
  }
})

/** A size as the shortest text that SIZE_TEXT reads. */
export function sizeText(size: Size): string {
  if (size.method === 'equal') return 'equal'
  if (size.method === 'fixed-fraction') return shareText(size.fraction)
  return `vol ${shareText(size.target)}${size.cap === 1 ? '' : ` max ${shareText(size.cap)}`}`
}

/** The exits of a strategy by bands and conditions. */
export interface RuleExits {
  readonly leave: boolean
  readonly on: { readonly field: string; readonly bands: readonly string[] } | null
  readonly when?: string
}

/** `leave`, bands of the entry's field, or a condition; one of each at most. */
export const EXITS: Kind<RuleExits, string | readonly string[]> = {
  schema: {
    anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, minItems: 1 }],
    examples: ['leave', 'rsi_zone = neutral', 'overbought'],
  },
  placeholder: 'RULE',
  object: true,
  repeats: true,
  parse: (param, written, scope = DEFAULT_SCOPE) => {
    const exits: { leave: boolean; on: RuleExits['on']; when?: string } = { leave: false, on: null }
    for (const item of [written].flat()) {
      // YAML has true and false, the bands of a condition, as booleans.
      const text = typeof item === 'boolean' ? String(item) : textOf(param, item)
      if (text.trim() === 'leave') exits.leave = true
      else if (looksLikeBands(text, scope)) {
        if (exits.on !== null) throw secondRuleError(param, text)
        exits.on = readBandsOfEntry(param, text, scope)
      } else {
        if (exits.when !== undefined) throw secondRuleError(param, text)
        exits.when = CONDITION.parse(param, text, scope)
      }
    }
    return exits
  },
}

/** Whether a rule is a list of words, which are then bands of the entry's field. */
function looksLikeBands(text: string, { earlier }: Scope): boolean {
  return /^\s*\w+(\s*[,+]\s*\w+)*\s*$/.test(text) && 'field' in earlier
}

/** The exit on bands of the entry's field. Throws InvalidParameter, which names the other forms of a rule. */
function readBandsOfEntry(param: string, text: string, scope: Scope): RuleExits['on'] {
  const words = text.split(/[,+]/).map(word => word.trim())
  try {
    return { field: String(scope.earlier.field), bands: CONDITION_BANDS.parse(param, words, scope) }
  } catch (error) {
    if (!(error instanceof InvalidParameter)) throw error
    const { value, suggestions = [] } = error.offence
    const allowed = `leave, a band of ${scope.earlier.field}, or a condition such as rsi_zone = neutral`
    const meant = [...suggestions]
    if (/^leav/.test(String(value))) meant.push('leave')
    const message = `${param} "${value}" is not ${allowed}.${didYouMean(meant.slice(0, 1))}`
    throw wrong(param, message, { value, allowed, suggestions: meant })
  }
}

function secondRuleError(param: string, text: string): InvalidParameter {
  const words = sentence`${{ param }} ${text}: there is one such rule already; join them by or, or by a comma.`
  return wrong(param, words, { value: text })
}

/**
 * The exit rules as the key `when` of a file has them; undefined if there are none.
 * @param entryField the entry's field
 */
export function exitTexts({ leave, on, when }: RuleExits, entryField: string): string | string[] | undefined {
  const texts: string[] = []
  if (leave) texts.push('leave')
  if (on !== null && on.field === entryField) texts.push(on.bands.join(','))
  if (when !== undefined) texts.push(when)
  return texts.length > 1 ? texts : texts[0]
}

/** `15%`, or the plain number if the percentage would be read as another number. */
function shareText(share: number): string {
  const text = percent(share, '')
  return Number.parseFloat(text) / 100 === share && !text.includes('e') ? text : String(share)
}

/** A text with an exponent or many digits as a number, as numbers are printed; other text unchanged. */
function exactNumber(word: string): string | number {
  return /^\d+(\.\d+)?e[+-]?\d+$|^\d+\.\d{16,}$/.test(word) ? Number(word) : word
}
