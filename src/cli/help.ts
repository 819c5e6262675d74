import { version } from '../open.js'
import type { OptionSpec } from '../params/row.js'
import { type Entry, GROUPS, groupOf } from './catalogue.js'
import type { Command } from './command.js'
import { wrap } from './draw/text.js'
import { GLOBAL_OPTIONS } from './options.js'
import type { Request } from './program.js'
import { plainName, usage } from './usage-errors.js'

/** What `bands` alone says; under 24 lines, examples first. */
export const TOP_HELP = `bands: when did a stock change band, and what followed?

  bands events AAPL rsi_zone --band oversold       list the transitions
  bands tally AAPL rsi_zone --band oversold        count what followed
  bands study AAPL rsi_zone --band oversold        test it
  bands events AAPL rsi_zone --json | jq '.events[0]'

Ask       events  tally  now  transitions  scan  explain  show  facts  export
Test      study  backtest  sweep  trials  check
Data      import  import-facts  pull  simulate  verify  rebuild  remove
Find out  fields  tickers  status  doctor  demo
Servers   serve  accounts  keys  login  logout  config

Options of every command
  --json | --ndjson | --csv     machine output    --tier free|plus|pro
  --output FORMAT               the same by name  --as-of DATE
  --color auto|always|never     -q quiet          --db FILE
  --progress auto|plain|none    --debug           --version
  --remote URL                  ask a server      --profile NAME

bands COMMAND --help: examples and every option.
`

/** Examples, arguments and what is good to know, then every option. */
function helpOf(entry: Entry, command: Command, width: number): string {
  const blocks = [
    ...paragraphs([`bands ${entry.name}: ${entry.summary}`], width),
    command.examples.map(line => `  ${line}\n`).join(''),
    `Usage: ${usage(entry, command)} [options]\n${list(
      (command.arguments ?? []).map(([name, about]) => [name.replace(/[<>[\].]/g, ''), about]),
      width,
    )}`,
    ...paragraphs(command.notes ?? [], width),
    ...optionBlocks(command, width),
    section('Options of every command', GLOBAL_OPTIONS, width),
    ...paragraphs([EXITS, PROMISE], width),
  ]
  return blocks.filter(block => block !== '').join('\n')
}

function paragraphs(texts: readonly string[], width: number): string[] {
  return texts.map(text =>
    wrap(text, width)
      .map(line => `${line}\n`)
      .join(''),
  )
}

/** Options by their headings, in the order of these; one without a heading stands under that of the one before it. */
function optionBlocks({ options = [], headings = {} }: Command, width: number): string[] {
  const blocks = new Map<string, OptionSpec[]>()
  let heading = 'Options'
  for (const spec of options) {
    heading = headings[spec[0].split(' ')[0]!] ?? spec[3] ?? heading
    blocks.set(heading, [...(blocks.get(heading) ?? []), spec])
  }
  const term = Math.max(0, ...options.map(([flags]) => plainName(flags).length))
  return [...blocks].map(([title, specs]) => section(title, specs, width, term))
}

/** The commands of a group. */
function groupHelp(group: string, width: number): string {
  const commands = groupOf(group).map(({ name, summary }): [string, string] => [`bands ${name}`, summary])
  return `bands ${group}: ${GROUPS[group]}\n\n${list(commands, width)}\nbands ${group} COMMAND --help: examples and every option.\n`
}

const EXITS =
  'Exits with 0 when done, 2 for a wrong option or value, 3 for what is not there, 4 for a key or tier, 5 for bad data, 6 for this machine, 7 and 8 for a server or a lock, 1 for a bug.'

const PROMISE = 'Columns and words of tables may change between versions; those of json, ndjson and csv only grow.'

/** @param term columns that the names take, where sections share them */
function section(title: string, specs: readonly OptionSpec[], width: number, term?: number): string {
  if (specs.length === 0) return ''
  const items = specs.map(([flags, about, times]): [string, string] => [
    plainName(flags),
    times === 'repeatable' ? `${about} (several: A,B)` : about,
  ])
  return `${title}\n${list(items, width, term)}`
}

function list(
  items: readonly (readonly [string, string])[],
  width: number,
  term = Math.max(0, ...items.map(([name]) => name.length)),
): string {
  return items
    .map(([name, about]) => {
      const [first = '', ...rest] = wrap(about, Math.max(20, width - term - 4))
      const lines = [`  ${name.padEnd(term)}  ${first}`, ...rest.map(line => `${' '.repeat(term + 4)}${line}`)]
      return lines.map(line => `${line.trimEnd()}\n`).join('')
    })
    .join('')
}

/** The text of `--help` and `--version`. */
export function textFor(request: Exclude<Request, { given: unknown }>, width: number): string {
  if (request === 'version') return `bands ${version()}\n`
  if (request === 'help') return TOP_HELP
  return 'command' in request ? helpOf(request.helpFor, request.command, width) : groupHelp(request.helpFor, width)
}
