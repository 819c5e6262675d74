import { readdirSync } from 'node:fs'
import { builtPath, builtText } from '../../../core/built.js'
import { wordValue } from '../../../core/params/values.js'
import type { Command } from '../command.js'
import { linesText, wrap } from '../draw/text.js'
import { pagedStream, widthOf } from '../world.js'

const man: Command = {
  arguments: [['[COMMAND...]', 'a command or a group, such as tally or accounts (default: bands itself)']],
  examples: ['bands man', 'bands man tally', 'bands man accounts'],
  notes: ['After npm install --global, man bands-tally shows the same page.'],
  examinesSettings: true,
  withoutFields: true,
  async run(context, args) {
    const [word] = args.rest(0)
    const page = word === undefined ? 'bands' : `bands-${wordValue('command', word, pageNames())}`
    const { out, env } = context.world
    const text = renderPage(builtText(`man/${page}.1`), Math.min(100, widthOf(out, env)))
    if (context.isForPeople) return pagedStream(context.world).write(text)
    const lines = text.trimEnd().split('\n')
    await context.show({
      document: { schema: 'bands.man/1', page, text },
      columns: ['line'],
      rows: lines.map(line => ({ line })),
      paragraphs: [],
    })
  },
}

/** The first words of commands that have a page. */
function pageNames(): string[] {
  const folder = builtPath('man')
  if (folder === undefined) return []
  return readdirSync(folder).flatMap(file => file.match(/^bands-(.+)\.1$/)?.[1] ?? [])
}

const INDENT = 4

/**
 * Renders a man page as text, because some machines have no `man`. It understands only the roff requests that the build
 * writes.
 */
function renderPage(page: string, width: number): string {
  let isLiteral = false
  let indent = INDENT
  let isTerm = false
  const lines = page.split('\n').flatMap(line => {
    const [request = '', ...words] = line.split(' ')
    const rest = unescapeRoff(words.join(' '))
    switch (request) {
      case '.TH':
      case '.br':
        return []
      case '.SH':
        ;[indent, isTerm] = [INDENT, false]
        return ['', rest]
      case '.nf':
      case '.fi':
        isLiteral = request === '.nf'
        return []
      case '.PP':
        return ['']
      case '.TP':
        isTerm = true
        indent = INDENT
        return []
      case '.B':
      case '.BR': {
        const bold = ' '.repeat(indent) + rest.replace(' (1)', '(1)')
        if (isTerm) indent = 2 * INDENT
        isTerm = false
        return [bold]
      }
      default:
        return isLiteral ? [' '.repeat(INDENT) + unescapeRoff(line)] : wrapIndented(unescapeRoff(line), indent, width)
    }
  })
  return linesText(lines.slice(1))
}

function wrapIndented(text: string, indent: number, width: number): string[] {
  return wrap(text, Math.max(20, width - indent)).map(line => ' '.repeat(indent) + line)
}

/** A text with the escapes of roff replaced by their characters. */
function unescapeRoff(text: string): string {
  return text.replace(/^\\&/, '').replaceAll('\\-', '-').replaceAll('\\e', '\\')
}

export const commands = { man }
