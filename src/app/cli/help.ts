import { version } from '../../core/built.js'
import { headingOf, mayRepeat, type OptionSpec } from '../../core/params/row.js'
import { CATALOGUE, commandsOfGroup, type Entry, GROUPS, plainName, usageLine } from './catalogue.js'
import type { Command } from './command.js'
import { linesText, wrap } from './draw/text.js'
import { GLOBAL_OPTIONS } from './options.js'
import type { Request } from './program.js'

export const COMMON_COMMANDS = [
  ...['import', 'fetch', 'status', 'now', 'screen', 'changes', 'events'],
  ...['tally', 'study', 'backtest', 'sweep', 'export'],
]

/** The text of `bands` without arguments: under 24 lines, examples first. */
export const TOP_HELP = `bands: when did a stock change its band, and what did the price do next?

  bands events AAPL rsi_zone --band oversold     each time it became oversold
  bands tally AAPL rsi_zone --band oversold      what the price did afterwards
  bands study AAPL rsi_zone --band oversold      could that be luck?

${itemList(COMMON_COMMANDS.map(summaryItem), 80)}
Without data of your own, the bundled sample answers.
All commands: bands help all            One command: bands COMMAND --help
`

/** Every first word of a command line, by what it is for. */
export const PURPOSES: Readonly<Record<string, readonly string[]>> = {
  Ask: ['events', 'tally', 'now', 'transitions', 'explain', 'show', 'facts', 'export', 'sql', 'ui'],
  Market: ['screen', 'changes', 'scan', 'watch', 'conditions'],
  Test: ['study', 'backtest', 'compare', 'sweep', 'trials', 'check'],
  Data: ['import', 'fetch', 'update', 'providers', 'pull', 'simulate', 'status', 'rename', 'remove', 'rebuild'],
  Keep: ['verify', 'backup', 'restore', 'unlock'],
  Servers: ['serve', 'mcp', 'accounts', 'keys', 'login', 'logout'],
  Help: ['fields', 'schema', 'config', 'doctor', 'demo', 'completion'],
}

function allHelp(width: number): string {
  const words = Object.values(PURPOSES).flat()
  const wordWidth = Math.max(...words.map(word => word.length))
  const groups = Object.entries(PURPOSES).map(([title, words]) => {
    const items = words.map(summaryItem)
    return `${title}\n${itemList(items, width, wordWidth)}`
  })
  const end = 'bands COMMAND --help: examples and options. Options of every command: bands help options'
  return [...groups, paragraph(end, width)].join('\n')
}

type Item = readonly [word: string, about: string]

function summaryItem(word: string): Item {
  return [word, GROUPS[word] ?? CATALOGUE.find(({ name }) => name === word)!.summary]
}

/** The help of a command as data: drawn here for a terminal, by the build as a man page. */
function helpOf(entry: Entry, command: Command) {
  return {
    name: entry.name,
    summary: entry.summary,
    examples: command.examples,
    usage: `${usageLine(entry, command)} [options]`,
    arguments: (command.arguments ?? []).map(([name, about]): Item => [name.replace(/[<>[\].]/g, ''), about]),
    notes: command.notes ?? [],
    sections: sectionsOf(command),
  }
}

type CommandHelp = Extract<Request, { isWhole: boolean }>

function fullHelp({ helpFor, command }: CommandHelp) {
  return { ...helpOf(helpFor, command), omittedOptions: 0 }
}

/** The short help: three examples, one note, and the options in `first`. Without `first`, there is only a full help. */
function briefHelp(request: CommandHelp) {
  const help = fullHelp(request)
  const { first } = request.command
  if (first === undefined) return help
  const isFirst = ([word]: Item): boolean => first.includes(/--([\w-]+)/.exec(word)![1]!)
  const sections = help.sections.map(({ title, items }) => ({ title, items: items.filter(isFirst) }))
  const omittedOptions = help.sections.flatMap(({ items }) => items).filter(item => !isFirst(item)).length
  return {
    ...help,
    omittedOptions,
    examples: help.examples.slice(0, 3),
    notes: help.notes.slice(0, 1),
    sections: sections.filter(({ items }) => items.length > 0),
  }
}

/**
 * All help, from which the build makes man pages. `fixedTexts` has the whole output of some command lines. The build
 * stores these texts in a file, from which bin/bands.js prints them without loading a command.
 */
export async function manual() {
  const { COMPLETION_SCRIPTS } = await import('./commands/reference.js')
  const scripts = Object.entries(COMPLETION_SCRIPTS).map(([shell, script]) => [`completion ${shell}`, script])
  const fixedTexts: Record<string, string> = { '--help': TOP_HELP, ...Object.fromEntries(scripts) }
  const commands = await Promise.all(CATALOGUE.map(async entry => helpOf(entry, await entry.load())))
  const notes = [EXIT_CODES_NOTE, STABILITY_NOTE]
  return { fixedTexts, commands, groups: GROUPS, options: GLOBAL_OPTIONS.map(optionItem), notes }
}

/** Groups options by their headings, in the order of the options; one without a heading joins the option before it. */
function sectionsOf({ options = [] }: Command) {
  const blocks = new Map<string, Item[]>()
  let heading = 'Options'
  for (const spec of options) {
    heading = headingOf(spec) ?? heading
    blocks.set(heading, [...(blocks.get(heading) ?? []), optionItem(spec)])
  }
  return [...blocks].map(([title, items]) => ({ title, items }))
}

function optionItem(spec: OptionSpec): Item {
  const [flags, about] = spec
  return [plainName(flags), mayRepeat(spec) && !flags.endsWith('<PARTS>') ? `${about} (several: A,B)` : about]
}

/** Examples, arguments and notes, followed by the command's own options. */
function helpText(help: ReturnType<typeof fullHelp>, width: number): string {
  const { name, summary, examples, usage, arguments: args, notes, sections } = help
  const wordWidth = longestWord(sections.flatMap(({ items }) => items))
  const blocks = [
    paragraph(`bands ${name}: ${summary}`, width),
    linesText(examples.map(line => `  ${line}`)),
    `Usage: ${usage}\n${itemList(args, width)}`,
    ...notes.map(text => paragraph(text, width)),
    ...sections.map(({ title, items }) => `${title}\n${itemList(items, width, wordWidth)}`),
  ]
  if (help.omittedOptions > 0)
    blocks.push(paragraph(`${help.omittedOptions} more options: bands ${name} --help all`, width))
  blocks.push(paragraph('Options of every command, and exit codes: bands help options', width))
  return blocks.filter(block => block !== '').join('\n')
}

function commonHelp(width: number): string {
  const items = GLOBAL_OPTIONS.map(optionItem)
  return [
    `Options of every command\n${itemList(items, width)}`,
    ...[EXIT_CODES_NOTE, STABILITY_NOTE].map(text => paragraph(text, width)),
  ].join('\n')
}

function groupHelp(group: string, width: number): string {
  const commands = commandsOfGroup(group).map(({ name, summary }): Item => [`bands ${name}`, summary])
  const end = `bands ${group} COMMAND --help: examples and every option.`
  return `bands ${group}: ${GROUPS[group]}\n\n${itemList(commands, width)}\n${end}\n`
}

const EXIT_CODES_NOTE =
  'Exits with 0 when done, 2 for a wrong option or value, 3 if not found, 4 for a key or tier, 5 for bad data. 6 is for this machine, 7 and 8 for a server or a lock, 1 for a bug.'

const STABILITY_NOTE =
  'Columns and words of tables may change between versions; those of json, ndjson and csv only grow.'

function paragraph(text: string, width: number): string {
  return linesText(wrap(text, width))
}

/** Items below each other, their descriptions wrapped in a second column. @param wordWidth that of the first one */
export function itemList(items: readonly Item[], width: number, wordWidth = longestWord(items)): string {
  const lines = items.flatMap(([word, about]) => {
    const [first = '', ...rest] = wrap(about, Math.max(20, width - wordWidth - 4))
    return [`  ${word.padEnd(wordWidth)}  ${first}`, ...rest.map(line => `${' '.repeat(wordWidth + 4)}${line}`)]
  })
  return linesText(lines.map(line => line.trimEnd()))
}

function longestWord(items: readonly Item[]): number {
  return Math.max(0, ...items.map(([word]) => word.length))
}

export function textFor(request: Exclude<Request, { args: unknown }>, width: number): string {
  if (request === 'version') return `bands ${version()}\n`
  if (request === 'help') return TOP_HELP
  if (request === 'all') return allHelp(width)
  if (request === 'options') return commonHelp(width)
  return 'command' in request
    ? helpText(request.isWhole ? fullHelp(request) : briefHelp(request), width)
    : groupHelp(request.helpFor, width)
}
