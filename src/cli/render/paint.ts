/** Colour only says again what the text says: sign, heading, hint. */
export interface Paint {
  good(text: string): string
  bad(text: string): string
  strong(text: string): string
  faint(text: string): string
}

const same = (text: string): string => text

export const UNPAINTED: Paint = { good: same, bad: same, strong: same, faint: same }

/** Sixteen colours, which every terminal has. */
export async function paintFor(coloured: boolean): Promise<Paint> {
  if (!coloured) return UNPAINTED
  const { Chalk } = await import('chalk')
  const chalk = new Chalk({ level: 1 })
  return {
    good: text => chalk.green(text),
    bad: text => chalk.red(text),
    strong: text => chalk.bold(text),
    faint: text => chalk.dim(text),
  }
}
