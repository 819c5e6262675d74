import type { Subject } from './subject.js'
import type { Material } from './window.js'

/** Words before the name of a band that make the name of a stronger one. */
const STRONGER = ['strong', 'deep', 'deeply', 'extremely']

/** What else could be asked, in sentences: bands of nearly the same name that were left out, with what they would add. */
export function hintsOf({ query: { filter }, subjects }: Material): string[] {
  const { bands, context } = filter
  const vocabulary = subjects[0]?.states.bands ?? []
  const entered = strongerOf(bands, vocabulary).map(([band, sibling]) =>
    hint(
      'band',
      [band, sibling],
      total(subjects, ({ byBand }) => byBand[vocabulary.indexOf(sibling)]!.length),
    ),
  )
  if (context === null) return entered.filter(told => told !== null)
  const seen = [...new Set(subjects.flatMap(({ anyContext }) => anyContext.contextBands ?? []))]
  const beside = strongerOf(context.bands, seen).map(([band, sibling]) =>
    hint(
      `context band of ${context.ticker}`,
      [band, sibling],
      total(subjects, ({ anyContext }) => anyContext.contextBands!.filter(other => other === sibling).length),
    ),
  )
  return [...entered, ...beside].filter(told => told !== null)
}

function hint(what: string, [band, sibling]: [string, string], more: number): string | null {
  if (more === 0) return null
  return `${sibling} is a band of its own, with ${more} more ${more === 1 ? 'event' : 'events'}: ${what} ${band},${sibling} takes both.`
}

/** Bands that were asked for, each with one that was not and whose name is its own made stronger. */
function strongerOf(asked: readonly string[] | null, vocabulary: readonly (string | null)[]): [string, string][] {
  return (asked ?? []).flatMap(band =>
    STRONGER.map(word => `${word}_${band}`)
      .filter(sibling => vocabulary.includes(sibling) && !asked!.includes(sibling))
      .map((sibling): [string, string] => [band, sibling]),
  )
}

function total(subjects: readonly Subject[], of: (subject: Subject) => number): number {
  return subjects.reduce((sum, subject) => sum + of(subject), 0)
}
