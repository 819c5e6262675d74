/** One bar of a chart of bars: what it stands for, how long it is, and the words behind it. */
export interface Bar {
  label: string
  value: number
  text: string
}

/** Horizontal bars of one scale, from 0, an eighth of a character fine; labels right, words behind the bars. */
export function drawBars(bars: readonly Bar[], { width, ascii }: { width: number; ascii: boolean }): string[] {
  const label = longest(bars.map(bar => bar.label))
  const text = longest(bars.map(bar => bar.text))
  const room = Math.max(8, width - label - text - 4)
  const most = bars.reduce((a, bar) => Math.max(a, bar.value), 0)
  return bars.map(bar => {
    const length = most === 0 ? 0 : (bar.value / most) * room
    const drawn = ascii ? '#'.repeat(Math.round(length)) : blocks(length)
    const axis = ascii ? '|' : '│'
    return `${bar.label.padStart(label)} ${axis}${drawn}${drawn === '' ? '' : ' '}${bar.text}`.trimEnd()
  })
}

/** A value above 0 shows at least a sliver. */
function blocks(length: number): string {
  const eighths = length === 0 ? 0 : Math.max(1, Math.round(length * 8))
  const rest = eighths % 8
  return '█'.repeat(Math.floor(eighths / 8)) + (rest === 0 ? '' : EIGHTHS[rest - 1]!)
}

const EIGHTHS = '▏▎▍▌▋▊▉'

function longest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, text.length), 0)
}
