import { type ColourFlag, isColoured } from './colour.js'
import type { Stream } from './stream.js'
import type { World } from './world.js'

/** Columns to write in: those of the terminal, at least 40; 80 where nobody knows. COLUMNS overrules. */
export function widthOf(stream: Stream, env: NodeJS.ProcessEnv): number {
  const told = Number(env.COLUMNS)
  const columns = Number.isInteger(told) && told > 0 ? told : stream.columns()
  return Math.max(40, columns || 80)
}

/** Whether more than ASCII can be shown. */
export function isUnicode({ LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  return /utf-?8/i.test(LC_ALL || LC_CTYPE || LANG || '')
}

/** What was chosen for the terminal, and why; for `bands doctor`. */
export function terminalFacts({ env, out }: World, colour: ColourFlag): { name: string; detail: string }[] {
  const set = ['NO_COLOR', 'FORCE_COLOR', 'CLICOLOR_FORCE', 'CLICOLOR', 'TERM'].filter(name => env[name])
  const reasons = [
    `--color ${colour}`,
    `a terminal: ${out.terminal ? 'yes' : 'no'}`,
    ...set.map(name => `${name}=${env[name]}`),
  ]
  const told = env.COLUMNS ? 'COLUMNS' : out.columns() === null ? 'nobody tells' : 'the terminal'
  return [
    { name: 'colour', detail: `${isColoured(colour, env, out.terminal) ? 'on' : 'off'} (${reasons.join(', ')})` },
    { name: 'width', detail: `${widthOf(out, env)} columns (${told})` },
    { name: 'characters', detail: isUnicode(env) ? 'UTF-8' : 'ASCII (LANG names no UTF-8)' },
  ]
}
