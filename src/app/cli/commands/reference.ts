import { builtText } from '../../../core/built.js'
import { parameter, sentence, wrong } from '../../../core/errors.js'
import { type AnyField, ruleInWords } from '../../../core/fields/index.js'
import { fieldValue, timeframeValue, wordValue } from '../../../core/params/values.js'
import { type Column, column, describeList, type Paragraph, tablePart } from '../../present/description.js'
import { describeBandCounts } from '../../present/tally.js'
import type { Args, Command } from '../command.js'
import { longName } from '../command-line.js'
import { loadFields } from '../config.js'
import type { Context } from '../context.js'
import { readSmallFile } from '../formats.js'
import { TICKERS_OPTIONS, TIMEFRAME } from '../options.js'
import { type Answer, jsonText } from '../output.js'
import { everyTicker, hasTickersOption, tickersOfLine } from '../tickers.js'

/** The reference of fields, names and schemas, for people, programs and shells. */

const CHECK_OPTIONS = [TIMEFRAME, ...TICKERS_OPTIONS]

const fields: Command = {
  arguments: [
    ['[FIELD...]', 'only these, with the rule of each; or the word check and a file', ['FIELD', 'check', 'FILE']],
  ],
  options: CHECK_OPTIONS,
  examples: ['bands fields', 'bands fields rsi_zone', 'bands fields check fields.yaml'],
  notes: [
    'bands fields check FILE reads own fields (docs/own-fields.md), and counts how often each of their bands occurred on the loaded tickers.',
  ],
  withoutFields: true,
  async run(context, args) {
    // A server lists only the built-in fields, without their rules.
    context.refuseRemote()
    const words = args.argumentList(0)
    if (words[0] === 'check') {
      const [, file, ...others] = words
      if (file !== undefined && others.length === 0) return checkFields(context, args, file)
      throw wrong('file', 'bands fields check takes one file of own fields.')
    }
    const [checkOption] = Object.keys(args.params(CHECK_OPTIONS.map(option => longName(option).slice(2))))
    if (checkOption !== undefined)
      throw wrong(checkOption, sentence`${parameter(checkOption)} is only for bands fields check FILE.`)
    const namedFields = words.map(name => fieldValue('field', name, context.fields))
    await context.show(words.length === 0 ? fieldListAnswer(context.fields.all) : fieldRulesAnswer(namedFields))
    // The user's own fields are left out if their file is broken.
    await loadFields(context.config, context.world.env).catch(({ message }: Error) =>
      context.notice(`Fields of your own are left out: ${message}`),
    )
  },
}

/** Reads a file of own fields, and shows how often each of their bands occurred on the tickers of the line. */
async function checkFields(context: Context, args: Args, file: string): Promise<void> {
  const [{ ownFieldSet }, { bandCounts }] = await Promise.all([
    import('../../../core/params/fields-file.js'),
    import('../../../data/local/band-counts.js'),
  ])
  const set = ownFieldSet(await readSmallFile(file), file)
  const ownNames = set.all.filter(({ hash }) => hash !== undefined).map(({ name }) => name)
  if (ownNames.length === 0) return context.notice(`No field: ${file} defines none.`)
  const allTickers = () => everyTicker(context, 'bands fields check FILE --tickers A,B')
  const tickers = hasTickersOption(args) ? await tickersOfLine(context, args, [], allTickers) : await allTickers()
  const timeframe = timeframeValue('timeframe', args.text('timeframe') ?? 'daily')
  const local = (await context.local()).withFields(set)
  const counts = await bandCounts(local, { fields: ownNames, tickers, timeframe }, context.step)
  await context.show(describeBandCounts(counts))
}

type FieldRow = ReturnType<typeof fieldRow>

function fieldRow(field: AnyField) {
  const { name, tier, needs, bands, summary, hash } = field
  const row = { field: name, tier, needs, bands, summary, rule: ruleInWords(field) }
  return hash === undefined ? row : { ...row, hash }
}

/** The answer that lists fields: a table in a pipe; on a terminal a paragraph each, because vocabularies are long. */
function fieldListAnswer(fields: readonly AnyField[]): Answer {
  const rows = fields.map(fieldRow)
  const columns: Column<FieldRow>[] = [
    ...[column('field'), column('tier'), column('needs')],
    { title: 'bands', kind: 'text', value: ({ bands }) => bands.join(' ') },
  ]
  const table: Paragraph = { heading: [], on: 'pipe', parts: [tablePart('Fields', columns, rows)] }
  const paragraphs = rows.map((row): Paragraph => ({ ...fieldParagraph(row, []), on: 'screen' }))
  return fieldsAnswer(rows, [table, ...paragraphs])
}

function fieldRulesAnswer(fields: readonly AnyField[]): Answer {
  const rows = fields.map(fieldRow)
  const paragraphs = rows.map(row => fieldParagraph(row, [`Rule: ${row.rule}`]))
  return fieldsAnswer(rows, paragraphs)
}

function fieldParagraph({ field, tier, needs, bands, summary }: FieldRow, notes: readonly string[]): Paragraph {
  return { heading: [field, tier, `from ${needs}`], parts: [{ notes: [summary, `  ${bands.join(' ')}`, ...notes] }] }
}

/** An answer about fields. Machines get the same rows with every paragraph. */
function fieldsAnswer(rows: readonly FieldRow[], paragraphs: readonly Paragraph[]): Answer {
  const columns = ['field', 'tier', 'needs', 'bands', 'summary', 'rule']
  return { document: { schema: 'bands.fields/1', fields: rows }, columns, rows, paragraphs }
}

type Schema = Readonly<Record<string, unknown>>

const DRAFT = 'https://json-schema.org/draft/2020-12/schema'

const schema: Command = {
  arguments: [['[NAME]', 'the answer, as tally of bands.tally/2, or strategy (default: list all names)']],
  examples: ['bands schema', 'bands schema tally', 'bands schema strategy'],
  notes: [
    'A JSON Schema (draft 2020-12) of what a command prints with --json, or of the strategy file of a backtest. Keys may be added to an answer, so readers should let unknown ones through.',
  ],
  withoutFields: true,
  async run(context, args) {
    const schemas = await allSchemas()
    const word = args.argument(0)
    if (word === undefined) return context.show(namesAnswer(schemas))
    const name = wordValue('name', word, Object.keys(schemas))
    await printSchema(context, schemas[name]!)
  },
}

/** All schemas in the order of the names: the build reads most from the types. */
async function allSchemas(): Promise<Record<string, Schema>> {
  const [{ strategySchema }, { pageSchemas }] = await Promise.all([
    import('../../../core/params/strategy.js'),
    import('../../../server/wire/schemas.js'),
  ])
  const answers = JSON.parse(builtText('schemas.json')) as Record<string, Schema>
  const strategy = { $schema: DRAFT, title: 'strategy', ...strategySchema() }
  const all = Object.entries<Schema>({ ...answers, ...pageSchemas(), strategy })
  return Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Prints a schema as JSON in every format, because it has no rows. */
function printSchema(context: Context, schema: Schema): Promise<void> {
  const { format } = context
  if (format !== null && format !== 'table' && format !== 'json')
    throw wrong('output', `output "${format}" has no form for a schema; it is JSON.`, { value: format })
  return context.out.write(jsonText(schema, { isPretty: format !== 'json' || context.out.terminal }))
}

/** The answer that lists the names of schemas; `schema` is null where the name is already that of the schema. */
function namesAnswer(schemas: Readonly<Record<string, Schema>>): Answer {
  const rows = Object.entries(schemas).map(([name, { title }]) => {
    return { name, schema: typeof title === 'string' && title !== name ? title : null }
  })
  return describeList({ schema: 'bands.schemas/1', schemas: rows }, rows, [column('name'), column('schema')])
}

const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

const completion: Command = {
  arguments: [['<SHELL>', SHELLS.join(', '), SHELLS]],
  examples: ['bands completion bash', 'bands completion zsh', 'bands completion fish | source'],
  notes: [
    'Prints a script that lets the shell complete commands, options, values, fields, the bands of the typed field, and loaded tickers.',
    'For good: source <(bands completion bash) as a line of ~/.bashrc; the same with zsh in ~/.zshrc, below compinit; for fish: bands completion fish > ~/.config/fish/completions/bands.fish.',
  ],
  withoutFields: true,
  async run(context, args) {
    const shell = wordValue('shell', args.argument(0)!, SHELLS)
    const script = COMPLETION_SCRIPTS[shell]
    if (context.isForPeople) return context.world.out.write(script)
    const lines = script.trimEnd().split('\n')
    const document = { schema: 'bands.completion/1', shell, script }
    await context.show({ document, columns: ['line'], rows: lines.map(line => ({ line })), paragraphs: [] })
  },
}

/** Each script calls `bands completion --complete` for the candidates; `:files` leaves them to the shell. */
export const COMPLETION_SCRIPTS: Readonly<Record<Shell, string>> = {
  bash: `# Completion of bands for bash.
_bands() {
  local line files='' IFS=$'\\n'
  COMPREPLY=()
  while read -r line; do
    if [[ $line == :files ]]; then files=1; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <("$1" completion --complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ $files && \${#COMPREPLY[@]} == 0 ]]; then
    compopt -o default 2>/dev/null || COMPREPLY=($(compgen -f -- "$2"))
  fi
  # A key is not done before its value.
  if [[ \${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _bands bands
`,
  zsh: `#compdef bands
# Completion of bands for zsh.
_bands() {
  local -a found shown
  local line files=''
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      files=1
    else
      found+=("\${line%%$'\\t'*}")
      shown+=("\${line/$'\\t'/  }")
    fi
  done < <("\${words[1]}" completion --complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( \${#found} )) && compadd -M 'm:{a-zA-Z}={A-Za-z}' -l -d shown -a found
  if [[ -n $files ]]; then _files; fi
}
if [[ $funcstack[1] == _bands ]]; then _bands "$@"; else compdef _bands bands; fi
`,
  fish: `# Completion of bands for fish.
function __bands_complete
    set -l words (commandline -opc)
    set -e words[1]
    set -l current (commandline -ct)
    for line in (bands completion --complete -- $words "$current" 2>/dev/null)
        if test "$line" = ":files"
            __fish_complete_path "$current"
        else
            printf '%s\\n' $line
        end
    end
end
complete -c bands -f -a '(__bands_complete)'
`,
}

export const commands = { fields, schema, completion }
