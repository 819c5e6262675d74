import type { PoolQuery } from '../../../core/model/event.js'
import { count } from '../../../core/numbers.js'
import { EXPLAIN, FILTERS, parseExplain } from '../../../core/params/questions.js'
import { optionsOf } from '../../../core/params/row.js'
import { integerValue } from '../../../core/params/values.js'
import { WHEN } from '../../../core/params/when.js'
import { SHOWN_BARS, type Timeline, timeline } from '../../../data/local/timeline.js'
import { describeExplanation } from '../../present/explain.js'
import { asOfText, tickersText } from '../../present/words.js'
import type { Args, Command } from '../command.js'
import type { Context } from '../context.js'
import { drawingWidth, drawMultiples, drawTimeline } from '../draw/chart.js'
import type { Screen } from '../draw/table.js'
import { noticeNoEvent } from '../notices.js'
import {
  FIELD,
  historyQuery,
  POOL_ARGUMENTS,
  poolTarget,
  refuseFieldBeforeTicker,
  TICKER,
  TICKERS_OPTIONS,
  TIMEFRAME,
  targetOf,
} from '../options.js'
import type { Answer } from '../output.js'
import { hasTickersOption } from '../tickers.js'

const showCommand: Command = {
  arguments: POOL_ARGUMENTS,
  options: [
    ...optionsOf(FILTERS),
    ...TICKERS_OPTIONS,
    ['--height <LINES>', 'lines of the price, 3 to 60 (default 12; 4 for several tickers)'],
    ['--ascii', 'draw with plain characters'],
  ],
  examples: [
    'bands show AAPL rsi_zone',
    'bands show AAPL trend_direction --after 2015-01-01 --timeframe weekly',
    'bands show AAPL rsi_zone --band oversold --height 20',
    'bands show rsi_zone --all --after 2018-01-01',
  ],
  notes: [
    'The last 250 bars, or all after --after; CSV and NDJSON have all. A ^ or a number below the bands counts events.',
  ],
  /** Draws the price and the bands of one ticker, or small pictures of several. */
  async run(context, args) {
    const { tickers, ...target } = await poolTarget(context, args, 'show')
    const isPool = tickers.length > 1 || hasTickersOption(args)
    const height = integerValue('height', args.text('height') ?? (isPool ? '4' : '12'), 3, 60)
    const style = { height, ascii: args.flag('ascii') }
    const query = historyQuery(context, args, { ticker: tickers[0]!, ...target })
    if (isPool) return showMultiples(context, { ...query, tickers }, style)
    const fullTimeline = await timeline(await context.local(), query, Number.POSITIVE_INFINITY)
    const isShownWhole = context.isRowFormat || query.after !== undefined
    const bars = isShownWhole ? fullTimeline.bars : fullTimeline.bars.slice(-SHOWN_BARS)
    await context.show(timelineAnswer({ ...fullTimeline, bars }, style))
    const omitted = fullTimeline.bars.length - bars.length
    if (bars.every(bar => bar.band === null)) await noticeNoEvent(context, await context.local(), query)
    else if (omitted > 0 && !context.out.terminal)
      await context.remark(`${count(omitted, 'earlier bar')} left out: --after DATE shows more, --csv all.`)
  },
}

/** Draws several tickers next to each other, each on its own scale. Machines get the rows of all. */
async function showMultiples(context: Context, { tickers, ...query }: PoolQuery, style: Style): Promise<void> {
  const local = await context.local()
  const maxBars = context.isRowFormat ? Number.POSITIVE_INFINITY : SHOWN_BARS
  const timelines: Timeline[] = []
  for (const ticker of tickers) {
    timelines.push(await timeline(local, { ...query, ticker }, maxBars))
    context.step(() => `show  ${ticker}  ${timelines.length} of ${tickers.length}`)
  }
  const { field, timeframe } = query
  const as_of = timelines[0]?.as_of ?? null
  const title = [`${tickersText(tickers)}  ${field}  ${timeframe}`, ...asOfText({ as_of })]
  await context.show({
    document: { schema: 'bands.pool-show/1', tickers, field, timeframe, as_of, timelines },
    columns: COLUMNS,
    rows: timelines.flatMap(rowsOf),
    paragraphs: [],
    blocks: screen => {
      const options = timelineOptions(screen, style, timelines[0]?.bands ?? [])
      return [{ title, drawing: drawMultiples(timelines, options) }]
    },
  })
}

const COLUMNS = ['ticker', 'field', 'timeframe', 'date', 'close', 'band', 'event']

function rowsOf({ ticker, field, timeframe, bars }: Timeline): object[] {
  return bars.map(bar => ({ ticker, field, timeframe, ...bar }))
}

interface Style {
  height: number
  ascii: boolean
}

/** The options of a drawing. Bands below the middle of the vocabulary have one colour, those above it another. */
function timelineOptions(
  { width, unicode, paint: { bad, good } }: Screen,
  { height, ascii }: Style,
  bands: readonly string[],
) {
  const middle = (bands.length - 1) / 2
  const paint = (bandIndex: number, text: string): string => {
    if (bandIndex === middle) return text
    return bandIndex < middle ? bad(text) : good(text)
  }
  return { width: drawingWidth(width), height, ascii: ascii || !unicode, paint }
}

/** The answer that draws the price with its bands; for machines it has a row for each bar. */
function timelineAnswer(result: Timeline, style: Style): Answer {
  const { ticker, field, timeframe, bars } = result
  return {
    document: result,
    columns: COLUMNS,
    rows: rowsOf(result),
    paragraphs: [],
    blocks: screen => {
      const events = bars.filter(bar => bar.event).length
      const range = bars.length === 0 ? 'no bars' : `${bars.length} bars from ${bars[0]!.date} to ${bars.at(-1)!.date}`
      const eventsText = `${events} ${events === 1 ? 'event' : 'events'}`
      const endText = [`${result.prices} prices`, `as of ${result.as_of}`]
      const title = [`${ticker}  ${field}  ${timeframe}`, range, eventsText, ...endText]
      return [{ title, drawing: drawTimeline(result, timelineOptions(screen, style, result.bands)) }]
    },
  }
}

const explainCommand: Command = {
  arguments: [TICKER, FIELD, ['[DATE]', 'the bar to explain, YYYY-MM-DD (default the newest)']],
  options: [TIMEFRAME, ...optionsOf(WHEN)],
  examples: [
    'bands explain AAPL rsi_zone 2018-02-08',
    'bands explain AAPL macd_state --timeframe weekly --json',
    "bands explain AAPL --when 'rsi_zone = oversold and GSPC:rsi_zone != oversold'",
  ],
  async run(context, args) {
    refuseFieldBeforeTicker(context, args.argument(0)!, args.argument(1))
    const query = parseExplain({ ...args.params(Object.keys(EXPLAIN)), ...explainTarget(args) }, context.fields)
    const { explain } = await import('../../../data/local/explain.js')
    await context.show(describeExplanation(await explain(await context.local(), query)))
  },
}

/** The ticker, field and date of the line. If --when replaces the field, the date is the second argument. */
function explainTarget(args: Args): { ticker: string; field?: string; date?: string | undefined } {
  const ticker = args.argument(0)!
  const second = args.argument(1)
  const third = args.argument(2)
  const isDate = args.text('when') !== undefined && third === undefined && /^\d/.test(second ?? '')
  return isDate ? { ticker, date: second } : { ...targetOf(args, 'explain'), date: third }
}

export const commands = { show: showCommand, explain: explainCommand }
