import { lagInWords } from '../../core/language/as-field.js'
import { count, numberText, probability, ratio, returnText, shareText, UNKNOWN } from '../../core/numbers.js'
import { tooFewEvents } from '../../research/study/result.js'
import { ADJUSTMENTS, type Sweep } from '../../research/sweep/result.js'
import { chosenNames, sweepAnswer } from './answer.js'
import { pValueHistogram } from './charts.js'
import {
  assumedSection,
  type Column,
  compact,
  type Description,
  type Estimates,
  type Fact,
  pageNote,
  type Section,
  section,
  tablePart,
  verdictTone,
} from './description.js'
import { cellsTable, cellText, FULL_LIST_OPTIONS } from './long-tables.js'
import { VALIDATION_TITLES } from './performance.js'
import {
  blocksText,
  minEventsFact,
  originFacts,
  overfittingText,
  pageTitle,
  rangeTexts,
  readingSection,
  tickersText,
  withFullStop,
} from './words.js'

/** Describes a sweep: how many combinations were tried, the best of them, and whether the best one is real. */
export function describeSweep(sweep: Sweep, { limit = 10 }: { limit?: number } = {}): Description {
  const hasNoEvent = sweep.cells.every(({ events }) => events === 0)
  const sections = compact([
    leadingSection(sweep),
    cellsSection(sweep, limit),
    bestSection(sweep),
    validationSection(sweep),
    settingsSection(sweep),
    readingSection('sweep'),
  ])
  return {
    document: sweep,
    kind: 'Sweep',
    title: pageTitle(`${count(sweep.tried.cells, 'combination')} of ${fieldsText(sweep)}`, sweep),
    answer: sweepAnswer(sweep),
    heading: headingOf(sweep),
    assumed: [hasNoEvent ? noEventsText(sweep) : shortMethod(sweep)],
    lead: [
      {
        chart: pValueHistogram(sweep.cells),
        note: 'Each bin is one twentieth; level bars mean that there is nothing to find.',
      },
    ],
    warnings: sweep.warnings,
    facts: [
      ['Fields', sweep.fields.join(', ')],
      ['Windows', `${sweep.horizons.join(', ')} bars`],
      ...originFacts(sweep),
    ],
    // Without an event there is no combination to show.
    sections: hasNoEvent ? sections.map(section => ({ ...section, on: 'page' })) : sections,
    longLists: [{ key: 'cells', keptEnd: 'first', fullListOption: FULL_LIST_OPTIONS.cells }],
  }
}

function fieldsText({ fields }: Sweep): string {
  return fields.length <= 2 ? fields.join(', ') : count(fields.length, 'field')
}

function headingOf(sweep: Sweep): string[] {
  const { tickers, timeframe, when, lag } = sweep
  const subject = `${tickersText(tickers)}  ${fieldsText(sweep)}  ${timeframe}`
  return compact([subject, when !== undefined && `when ${when}`, ...lagInWords(lag), ...rangeTexts(sweep)])
}

function noEventsText({ tickers, tried: { cells } }: Sweep): string {
  const subject =
    tickers.length === 1
      ? `${tickers[0]} did not enter any band`
      : `none of ${numberText(tickers.length)} tickers entered any band`
  return `No event: ${subject} as it was asked for; ${count(cells, 'combination')} had nothing to show.`
}

/** The number of combinations that were tried, tested and found, in two sentences. */
function triedText({ tried: { cells, tested, ledger }, found, family, adjust }: Sweep): string {
  const ledgerText = ledger === null ? '' : `; ${count(ledger, 'combination')} so far in the trial log`
  const questions = family === 'ledger' ? 'all of the log' : 'this run'
  const correction = adjust === 'none' ? 'not corrected' : `corrected over ${questions}`
  const triedSentence = `${count(cells, 'combination')} tried, ${numberText(tested)} with enough events for a p-value${ledgerText}.`
  return `${triedSentence} ${numberText(found)} found with q below .05, ${correction}.`
}

/** `Close to close, no costs. P: Newey-West t. Q: Benjamini-Hochberg (1995).` */
function shortMethod({ adjust }: Sweep): string {
  return `Close to close, no costs. P: Newey-West t. Q: ${adjust === 'none' ? 'P, not corrected' : ADJUSTMENTS[adjust]}.`
}

function assumedText({ tickers, adjust, resamples, seed }: Sweep): string {
  const same = tickers.length === 1 ? 'ticker' : 'tickers'
  return [
    `Close to close, without costs, against any bar of the same ${same} and dates.`,
    `P: Newey-West t with effective clusters; Q: P ${adjust === 'none' ? 'as it is' : `by ${ADJUSTMENTS[adjust]}`}; 95%: block bootstrap (${numberText(resamples)} draws); seed ${seed}.`,
    'The tickers are those that were asked for (survivorship).',
  ].join(' ')
}

/** A table of every combination, including those too small for a test, because they count as trials. */
function cellsSection(sweep: Sweep, limit: number): Section {
  const { cells } = sweep
  const shownCells = cells.slice(0, limit)
  const omittedCount = cells.length - shownCells.length
  const notes = compact([
    omittedCount > 0 && `${numberText(omittedCount)} more: --limit ${cells.length}; --csv and --json have all`,
    shownCells.some(cell => cell.grey) &&
      `Without P: ${tooFewEvents(sweep)}, or than 10 independent windows; counted as tried.`,
  ])
  return section({ id: 'cells', title: 'All combinations', untitled: true }, [
    { on: 'wide', notes: [`${triedText(sweep)} ${assumedText(sweep)}`] },
    { table: cellsTable(sweep, limit) },
    { on: 'terminal', notes },
  ])
}

/** The combinations with the smallest q, as a figure of their effects with intervals. The cells come in order of q. */
function leadingSection({ cells }: Sweep): Section {
  const bestCells = cells.filter(({ q }) => q !== null).slice(0, 15)
  const estimates: Estimates = {
    id: 'leading-forest',
    title: 'Difference from any bar',
    note: 'with its 95% interval, which is not corrected for the number of tests, as q is; n: events',
    names: 'long',
    estimates: bestCells.map(cell => {
      const { n, q, diff: value, low, high, grey } = cell
      const note = `n ${numberText(n)}, q ${probability(q)}`
      const tone = verdictTone(cell.verdict)
      return { label: cellText(cell), note, value, low, high, grey, tone, reasonIfNull: cell.reason ?? '' }
    }),
  }
  return section({ id: 'leading', title: 'The combinations with the smallest q', short: 'Leading', on: 'page' }, [
    bestCells.length === 0 ? pageNote('No combination had enough independent windows to be tested.') : { estimates },
  ])
}

/** A section that asks whether chance alone would produce such a best result. An unknown figure shows its reason. */
function bestSection({ best }: Sweep): Section {
  const { cells, resamples, block, reality_check, spa, deflated_sharpe, pbo, reasons } = best
  const { best_cell, best_sharpe, best_sharpe_cell } = best
  const reasonOf = (name: string): string => reasons[name] ?? 'not given'
  const realityCheckText = reality_check === null ? reasonOf('reality_check') : `p ${probability(reality_check)}`
  const spaText =
    spa === null
      ? reasonOf('spa')
      : `p ${probability(spa.consistent)}, between ${probability(spa.lower)} and ${probability(spa.upper)}`
  const deflatedText =
    deflated_sharpe === null
      ? reasonOf('deflated_sharpe')
      : `${probability(deflated_sharpe)}, the probability that its ${ratio(best_sharpe, 3)} a bar, the rise of the market included, is above the best that as many tests reach by chance`
  const ofBestCell = best_cell === null ? '' : ` of ${best_cell}`
  const inBlocks = block === null ? '' : ` in ${blocksText(block)}`
  const head = {
    id: 'best',
    on: 'wide' as const,
    title: `Is the best of ${numberText(cells)} real?`,
    short: 'Best of many',
  }
  return section({ ...head, phrases: [count(resamples, 'resample')] }, [
    {
      notes: [
        withFullStop(`Superior predictive ability (Hansen)${ofBestCell}: ${spaText}`),
        withFullStop(`Deflated Sharpe ratio, of holding after ${best_sharpe_cell ?? 'events'}: ${deflatedText}`),
        overfittingText(pbo, reasonOf('pbo')),
      ],
    },
    {
      on: 'wide',
      notes: [withFullStop(`Reality check (White), of the differences from any bar: ${realityCheckText}`)],
    },
    pageNote(
      `Drawn${inBlocks}. The p of Hansen (2005) is the consistent one, between its lower and upper bound. Reality check: White 2000. Deflated Sharpe ratio: Bailey and López de Prado 2014. Overfitting: Bailey and others 2017.`,
    ),
  ])
}

type Fold = NonNullable<Sweep['validation']>['folds'][number]

/** The chosen combinations and their results on the test days, by fold and by path; null without a validation. */
function validationSection({ validation }: Sweep): Section | null {
  if (validation === null) return null
  const { kind, folds, test, paths } = validation
  const names = chosenNames(validation)
  const shownNames = names.slice(0, 3)
  if (names.length > 3) shownNames.push(`${numberText(names.length - 3)} more (--json)`)
  const testText = `n ${numberText(test.n)}, mean ${returnText(test.mean)}, any bar in the same direction ${returnText(test.base)}, difference ${returnText(test.diff)}, hit ${shareText(test.hit)}`
  const notes = [`Chosen: ${shownNames.join('; ')}. On the days that were not used for the choice: ${testText}.`]
  if (paths !== null) notes.push(`Mean of each path: ${paths.map(returnText).join(', ')}.`)
  return section({ id: 'validation', title: VALIDATION_TITLES[kind], short: 'Validation' }, [
    tablePart('Folds', FOLD_COLUMNS, folds, { allColumnsIn: 'json' }),
    { notes },
  ])
}

function datesText(ranges: Fold['train']): string {
  return ranges.map(({ from, to }) => `${from} to ${to}`).join(', ')
}

function spanText(ranges: Fold['test']): string {
  return `${ranges[0]?.from ?? UNKNOWN} to ${ranges.at(-1)?.to ?? UNKNOWN}`
}

function totalEvents(ranges: Fold['train']): number {
  return ranges.reduce((sum, range) => sum + range.events, 0)
}

const FOLD_COLUMNS: readonly Column<Fold>[] = [
  { title: 'Part', kind: 'text', value: ({ name }) => name },
  { title: 'Chosen on', kind: 'text', on: 'page', value: ({ train }) => datesText(train) },
  { title: 'Events', kind: 'count', on: 'page', value: ({ train }) => totalEvents(train) },
  { title: 'Tested on', kind: 'text', hidePriority: 1, value: ({ test }) => spanText(test) },
  { title: 'Events', kind: 'count', on: 'page', value: ({ test }) => totalEvents(test) },
  { title: 'Purged', kind: 'count', hidePriority: 2, value: ({ purged }) => purged },
  { title: 'Chosen', kind: 'count', value: ({ chosen }) => chosen.length },
  { title: 'Train mean', kind: 'return', value: fold => fold.train_mean },
  { title: 'Test mean', kind: 'return', value: fold => fold.test_mean },
  { title: 'Combinations chosen', kind: 'text', wraps: true, on: 'page', value: ({ chosen }) => chosen.join(', ') },
]

function settingsSection(sweep: Sweep): Section {
  const { assumptions, adjust, family } = sweep
  const correctedOver = family === 'run' ? 'this run' : 'all combinations ever tried on this database'
  const facts: Fact[] = [minEventsFact(sweep), ['Correction', `${ADJUSTMENTS[adjust]}, over ${correctedOver}`]]
  return assumedSection(assumptions, [{ on: 'page', facts }])
}
