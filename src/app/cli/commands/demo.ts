import { StorageError } from '../../../core/errors.js'
import { parseEvents } from '../../../core/params/questions.js'
import { parseStudy } from '../../../core/params/studies.js'
import { grantedFields } from '../../../core/tiers.js'
import { eventStudy } from '../../../research/study/event-study.js'
import { type Now, now } from '../../../research/tally/now.js'
import { tally } from '../../../research/tally/tally.js'
import { withCountedTrials } from '../../../research/trials.js'
import type { Described } from '../../present/description.js'
import { describeEvents } from '../../present/events.js'
import { windowRecords } from '../../present/records.js'
import { describeStudy } from '../../present/study.js'
import { describeTally } from '../../present/tally.js'
import type { Command } from '../command.js'
import { blocksOf } from '../draw/described.js'
import type { Answer } from '../output.js'
import { describeResult, outputFiles, writeReport } from '../research.js'

const DEMO_EVENTS = { ticker: 'AAPL', field: 'rsi_zone', band: 'oversold' }
const DEMO_STUDY = { tickers: ['GSPC'], field: 'rsi_zone', band: 'oversold' }
/** A simulated company, which also has facts. */
const COMPANY = 'SIM0001'
const REPORT_FILE = 'bands-demo.html'

const demoCommand: Command = {
  options: [['--report <FILE>', `where the report of the study is written (default ${REPORT_FILE} in this folder)`]],
  examples: ['bands demo'],
  notes: [
    'Answers from the bundled sample: events, a tally, a study with its picture, and a report of it as a page. Machine formats write a report only to a named file.',
  ],
  /** Answers three questions about the sample, shows the answers as one, and writes the study as a page. */
  async run(context, args) {
    const { report } = await outputFiles(args)
    const bands = await context.sample()
    const query = parseEvents(DEMO_EVENTS)
    const events = describeEvents(await bands.newest(query), query, { returns: false })
    const { ticker, limit: _limit, ...filter } = query
    const tallyAnswer = describeTally(await tally(bands, { ...filter, tickers: [ticker] }))
    const fields = grantedFields(context.config.tier, context.fields).map(({ name }) => name)
    const presentBands = await now(bands, { tickers: [COMPANY], fields, timeframe: 'daily' })
    const study = await withCountedTrials(null, trials =>
      eventStudy(bands, parseStudy(DEMO_STUDY), { trials, step: context.step }),
    )
    const studyAnswer = describeResult(describeStudy(study), windowRecords(study))
    await context.show(demoAnswer(events, tallyAnswer, studyAnswer, presentBands))
    // The demo should not fail because of a folder that is not writable.
    if (context.isForPeople || report !== undefined)
      await writeReport(context, report ?? REPORT_FILE, bands, study).catch(error => {
        if (!(error instanceof StorageError)) throw error
        return context.notice(`no report: ${error.message}`)
      })
    await context.hint(...NEXT_STEPS)
  },
}

/** Joins the answers of the demo, each below its command line. Machine formats of rows have the events. */
function demoAnswer(events: Described, tallied: Described, studied: Described, presentBands: Now): Answer {
  const searchText = `${DEMO_EVENTS.ticker} ${DEMO_EVENTS.field} --band ${DEMO_EVENTS.band}`
  const answers: [line: string, answer: Described][] = [
    [`bands events ${searchText}`, events],
    [`bands tally ${searchText}`, tallied],
    [`bands study ${DEMO_STUDY.tickers} ${DEMO_STUDY.field} --band ${DEMO_STUDY.band}`, studied],
  ]
  return {
    ...events,
    document: {
      schema: 'bands.demo/1',
      events: events.document,
      tally: tallied.document,
      now: presentBands,
      study: studied.document,
    },
    blocks: screen => answers.flatMap(([line, answer]) => [{ notes: [`$ ${line}`] }, ...blocksOf(answer, screen)]),
  }
}

const NEXT_STEPS = [
  'three things to try:',
  `  bands now ${COMPANY}`,
  '  bands sweep AAPL GSPC --field rsi_zone,trend_direction',
  '  bands import FILE.csv',
]

export const commands = { demo: demoCommand }
