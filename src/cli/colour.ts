export type ColourFlag = 'auto' | 'always' | 'never'

/** Whether a stream is coloured: the option, then the environment's wish, then what the stream is. */
export function isColoured(flag: ColourFlag, env: NodeJS.ProcessEnv, terminal: boolean): boolean {
  if (flag !== 'auto') return flag === 'always'
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0'
  if (env.CLICOLOR_FORCE && env.CLICOLOR_FORCE !== '0') return true
  if (env.TERM === 'dumb' || env.CLICOLOR === '0') return false
  return terminal
}
