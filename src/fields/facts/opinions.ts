import { DEFINITIONS } from '../../model/definitions.js'
import { type Facts, type Grade, type RatingCounts, usableFrom } from '../../model/facts.js'
import { opinionOf } from '../../model/ratings.js'
import { Timeline } from './timeline.js'

/** How many analysts held which opinion, and their mean: 5 strong buy .. 1 strong sell. */
export interface Consensus {
  counts: RatingCounts
  analysts: number
  mean: number
  /** Whether it was made of single firms' grades, or given as counts. */
  made: boolean
}

/** Every consensus of enough analysts, made of grades or given. Of two that begin alike the given one stands. */
export function consensuses({ ratings, grades }: Pick<Facts, 'ratings' | 'grades'>): Timeline<Consensus> {
  const all = [
    ...standing(grades).map(counts => consensusOf(counts, true)),
    ...ratings.map(counts => consensusOf(counts, false)),
  ]
  const enough = all.filter(({ analysts }) => analysts >= DEFINITIONS.consensus.least)
  return new Timeline(enough, ({ counts }) => counts)
}

/** The counts that stood after each date that brought a grade: each firm's latest, while it is not too old. */
export function standing(grades: readonly Grade[]): RatingCounts[] {
  const counted = grades.filter(({ grade }) => opinionOf(grade) !== null)
  const { records } = new Timeline(counted, grade => grade)
  const latest = new Map<string, Grade>()
  const made: RatingCounts[] = []
  records.forEach((grade, i) => {
    latest.set(grade.firm.trim().toLowerCase(), grade)
    const next = records[i + 1]
    // A date's grades from before its session stand by themselves until those from after it are usable.
    const goesOn = next !== undefined && next.known === grade.known && usableFrom(next) === usableFrom(grade)
    if (!goesOn) made.push(countsAfter(grade, latest.values()))
  })
  return made
}

function countsAfter({ known, session }: Grade, latest: Iterable<Grade>): RatingCounts {
  const counts: RatingCounts = { known, session, strong_buy: 0, buy: 0, hold: 0, sell: 0, strong_sell: 0 }
  for (const { known: given, grade } of latest) {
    if (given > known - DEFINITIONS.consensus.gradeLife) counts[opinionOf(grade)!]++
  }
  return counts
}

function consensusOf(counts: RatingCounts, made: boolean): Consensus {
  const { strong_buy, buy, hold, sell, strong_sell } = counts
  const analysts = strong_buy + buy + hold + sell + strong_sell
  const mean = (5 * strong_buy + 4 * buy + 3 * hold + 2 * sell + strong_sell) / analysts
  return { counts, analysts, mean, made }
}
