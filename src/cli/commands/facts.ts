import type { KnownFact, KnownFacts } from '../../local/facts.js'
import { FACT_COLUMNS, FACT_KINDS, type FactKind } from '../../model/facts.js'
import { choice } from '../../params/row.js'
import { integerValue, tickerValue, wordValue } from '../../params/values.js'
import { count, figure, whole } from '../../present/numbers.js'
import type { Command } from '../command.js'
import type { Block, Cell } from '../draw/table.js'
import { TICKER } from '../options.js'
import type { Answer } from '../output.js'

export const command: Command = {
  arguments: [TICKER],
  options: [
    choice('--kind <KIND>', `the records of one kind: ${FACT_KINDS.join(', ')}`, FACT_KINDS),
    ['--limit <N>', 'with --kind: how many of the newest are shown in a table; 20 unless given'],
  ],
  examples: ['bands facts SIM0001', 'bands facts SIM0001 --kind reports', 'bands facts SIM0001 --kind ratings --csv'],
  notes: [
    'KNOWN is the day on which a fact became public, USABLE FROM the first date on whose bar it counts: the same day when it was known before the session, otherwise the next.',
  ],
  async run(context, given) {
    const ticker = tickerValue('ticker', given.argument(0)!)
    const kind = given.text('kind')
    const limit = integerValue('limit', given.text('limit') ?? '20', 1, 100_000)
    const chosen: FactKind | undefined = kind === undefined ? undefined : wordValue('kind', kind, FACT_KINDS)
    const { facts } = await import('../../local/facts.js')
    const cache = await context.local()
    const found = await facts(cache, chosen === undefined ? { ticker } : { ticker, kind: chosen })
    await context.show(factsAnswer(found, chosen, limit))
    if (found.records.length === 0 && !context.config.quiet) {
      const what = chosen === undefined ? 'facts' : chosen
      const by = found.as_of === null ? '' : ` by ${found.as_of}`
      await context.notice(`no ${what} of ${ticker} are known${by}; bands import-facts FILE loads facts.`)
    }
    if (chosen === undefined && found.records.length > 0)
      await context.hint(`next: bands facts ${ticker} --kind ${found.kinds[0]!.kind}`)
  },
}

/** What is known of a ticker: kinds at a glance, or the newest records of one kind. */
function factsAnswer(found: KnownFacts, kind: FactKind | undefined, limit: number): Answer {
  const names = new Set((kind === undefined ? FACT_KINDS : [kind]).flatMap(columnNames))
  return {
    document: () => found,
    columns: ['ticker', 'kind', 'known', 'usable_from', ...names, 'file', 'format', 'imported_at'],
    rows: () => found.records.map(record => ({ ticker: found.ticker, ...record })),
    blocks: () => [{ title: title(found), ...(kind === undefined ? overview(found) : listing(found, kind, limit)) }],
  }
}

function columnNames(kind: FactKind): string[] {
  return FACT_COLUMNS[kind].map(({ name }) => name).filter(name => name !== 'known')
}

function title({ ticker, security, as_of }: KnownFacts): string[] {
  const told = [security?.name, security?.sector, security?.asset_class].filter(text => text != null)
  const cap = security?.market_cap
  const size = cap == null ? [] : [`market capitalisation ${whole(cap)}`]
  return [ticker, ...told, ...size, ...(as_of === null ? [] : [`as of ${as_of}`])]
}

function overview({ kinds, security }: KnownFacts): Block {
  const assetClass = security?.asset_class ?? 'stock'
  const idle =
    assetClass === 'stock' ? [] : [`No field stands on these: only stocks have fundamentals, not ${assetClass}.`]
  return {
    table: {
      columns: [
        { title: 'KIND' },
        { title: 'RECORDS', align: 'right' },
        { title: 'FIRST KNOWN', spare: 1 },
        { title: 'LAST KNOWN' },
        { title: 'FILE', spare: 2 },
      ],
      rows: kinds.map(({ kind, records, first_known, last_known, files }) => [
        kind,
        whole(records),
        first_known ?? '',
        last_known ?? '',
        files.length > 2 ? `${files[0]} and ${files.length - 1} more` : files.join(', '),
      ]),
    },
    notes: idle,
  }
}

function listing({ records }: KnownFacts, kind: FactKind, limit: number): Block {
  const names = columnNames(kind)
  const newest = records.slice(-limit).reverse()
  const dated = kind === 'securities' ? [] : ['known', 'usable_from']
  const numeric = new Set(
    FACT_COLUMNS[kind]
      .filter(({ holds }) => ['number', 'amount', 'count', 'positive', 'return'].includes(holds))
      .map(({ name }) => name),
  )
  const left = records.length - newest.length
  return {
    table: {
      columns: [
        ...dated.map(name => ({ title: heading(name) })),
        ...names.map((name, i) => ({
          title: heading(name),
          ...(numeric.has(name) ? { align: 'right' as const } : {}),
          ...(i < 3 ? {} : { spare: i }),
        })),
        { title: 'FILE', spare: names.length },
      ],
      rows: newest.map(record => [...dated, ...names].map(name => cell(record, name)).concat(record.file)),
    },
    notes: left > 0 ? [`${count(left, 'older record')}: --limit ${records.length}`] : [],
  }
}

function heading(name: string): string {
  return name.replaceAll('_', ' ').toUpperCase()
}

function cell(record: KnownFact, name: string): Cell {
  const value = record[name]
  if (value == null) return '-'
  if (typeof value === 'string') return value
  return Number.isInteger(value) ? whole(value) : figure(value)
}
