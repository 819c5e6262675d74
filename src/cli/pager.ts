import { spawn } from 'node:child_process'

/**
 * Shows a text in the user's pager when the terminal has fewer rows than it has lines: BANDS_PAGER, otherwise PAGER,
 * otherwise less; empty or `cat` is none. False where nothing was shown, so that the text can be written as it is.
 */
export async function page(text: string, env: NodeJS.ProcessEnv, rows: number | undefined): Promise<boolean> {
  const pager = env.BANDS_PAGER ?? env.PAGER ?? 'less'
  if (pager === '' || pager === 'cat' || env.TERM === 'dumb') return false
  // A terminal that tells no size says 0.
  if (!rows || text.split('\n').length <= rows) return false
  return shownBy(pager, text, env)
}

/** Exit code of a shell for a command that does not exist, or may not be run. */
const UNKNOWN = [126, 127]

async function shownBy(pager: string, text: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  // Ctrl-C is for the pager while it shows; otherwise it would outlive us and fight the shell for the keyboard.
  const ignore = (): void => {}
  process.on('SIGINT', ignore)
  try {
    return await new Promise<boolean>(resolve => {
      // R: colours as they are, F: no pager for what fits after all, X: leave the text on the screen.
      const child = spawn('sh', ['-c', pager], {
        env: { LESS: 'FRX', ...env },
        stdio: ['pipe', 'inherit', 'inherit'],
      })
      child.on('error', () => resolve(false))
      child.on('close', code => resolve(!UNKNOWN.includes(code ?? 0)))
      // Left before the end (q): the rest of the text is not wanted.
      child.stdin.on('error', ignore)
      child.stdin.end(text)
    })
  } finally {
    process.off('SIGINT', ignore)
  }
}
