import { type Entry, GROUPS, groupOf } from './catalogue.js'
import type { Command, OptionSpec } from './command.js'
import { GLOBAL_OPTIONS } from './options.js'
import { wrap } from './render/wrap.js'
import { usage } from './slips.js'

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

/** Examples, then arguments, then every option. */
export function helpOf(entry: Entry, command: Command, width: number): string {
  const blocks = [
    `bands ${entry.name}: ${entry.summary}\n`,
    command.examples.map(line => `  ${line}\n`).join(''),
    `Usage: ${usage(entry, command)} [options]\n${list(
      (command.arguments ?? []).map(([name, about]) => [name.replace(/[<>[\].]/g, ''), about]),
      width,
    )}`,
    section('Options', command.options ?? [], width),
    section('Options of every command', GLOBAL_OPTIONS, width),
    ...[...(command.notes ?? []), PROMISE].map(note =>
      wrap(note, width)
        .map(line => `${line}\n`)
        .join(''),
    ),
  ]
  return blocks.filter(block => block !== '').join('\n')
}

/** The commands of a group. */
export function groupHelp(group: string, width: number): string {
  const commands = groupOf(group).map(({ name, summary }): [string, string] => [`bands ${name}`, summary])
  return `bands ${group}: ${GROUPS[group]}\n\n${list(commands, width)}\nbands ${group} COMMAND --help: examples and every option.\n`
}

const PROMISE = 'Columns and words of tables may change between versions; those of json, ndjson and csv only grow.'

function section(title: string, specs: readonly OptionSpec[], width: number): string {
  if (specs.length === 0) return ''
  const items = specs.map(([flags, about, times]): [string, string] => [
    flags.replace(/[<>]/g, ''),
    times === 'repeatable' ? `${about} (several: again, or with commas)` : about,
  ])
  return `${title}\n${list(items, width)}`
}

function list(items: readonly (readonly [string, string])[], width: number): string {
  const term = Math.max(0, ...items.map(([name]) => name.length))
  return items
    .map(([name, about]) => {
      const [first = '', ...rest] = wrap(about, Math.max(20, width - term - 4))
      const lines = [`  ${name.padEnd(term)}  ${first}`, ...rest.map(line => `${' '.repeat(term + 4)}${line}`)]
      return lines.map(line => `${line.trimEnd()}\n`).join('')
    })
    .join('')
}
