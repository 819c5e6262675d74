import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { andersonGoodman, homogeneity, type LogRank, logRank } from '../../src/core/statistics/chi-square.js'
import { Random } from '../../src/core/statistics/random.js'
import {
  type CausedSpell,
  cumulativeIncidence,
  kaplanMeier,
  lengthInterval,
  lengthOfShare,
  type Spell,
  stepAt,
  survivalErrors,
} from '../../src/core/statistics/survival.js'

/** Remission of leukaemia patients, weeks, with 6-MP and with placebo (Freireich et al. 1963). */
const TREATED = spells('6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+')
const PLACEBO = spells('1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23')
const THIRD = spells('2 5 5 9+ 14 3 21+ 30 8 8+')

describe('the error of a survival', () => {
  // R 4.2.2, survival 3.5-3: survfit(Surv(time, status) ~ 1, conf.type = "log-log"), std.err * surv, lower, upper.
  it('is that of R for the 6-MP patients', () => {
    const errors = survivalErrors(kaplanMeier(TREATED))
    const se = [0.0763603548321213, 0.0869352851800572, 0.0963496529943205, 0.10681470777501]
    const low = [0.619717955265984, 0.563146564622233, 0.503199510799957, 0.431610222486184]
    const high = [0.951551747646997, 0.92280901920288, 0.889361835169265, 0.849065963349451]
    for (const [i, error] of errors.slice(0, 4).entries()) {
      expect(error.se).toBeCloseTo(se[i]!, 12)
      expect(error.low).toBeCloseTo(low[i]!, 12)
      expect(error.high).toBeCloseTo(high[i]!, 12)
    }
    expect(errors.at(-1)!.se).toBeCloseTo(0.13459145675576, 12)
    expect(errors.at(-1)!.low).toBeCloseTo(0.188052005959232, 12)
    expect(errors.at(-1)!.high).toBeCloseTo(0.680142628495241, 12)
  })

  it('is the binomial one when nothing is censored, and null where nobody is left', () => {
    const steps = kaplanMeier(PLACEBO)
    const errors = survivalErrors(steps)
    for (const [i, { survival }] of steps.slice(0, -1).entries()) {
      expect(errors[i]!.se).toBeCloseTo(Math.sqrt((survival * (1 - survival)) / PLACEBO.length), 14)
    }
    expect(errors.at(-1)).toEqual({ se: null, low: null, high: null })
  })

  it('bounds the median and other lengths as quantile(survfit) does', () => {
    const treated = kaplanMeier(TREATED)
    expect([lengthOfShare(treated, 0.5), lengthInterval(treated, 0.5)]).toEqual([23, { low: 13, high: null }])
    expect(lengthInterval(treated, 0.25)).toEqual({ low: 6, high: 22 })
    const placebo = kaplanMeier(PLACEBO)
    expect(lengthInterval(placebo, 0.25)).toEqual({ low: 1, high: 5 })
    expect(lengthInterval(placebo, 0.5)).toEqual({ low: 4, high: 11 })
    expect(lengthInterval(placebo, 0.9)).toEqual({ low: 12, high: null })
    expect(lengthInterval([], 0.5)).toEqual({ low: null, high: null })
  })
})

describe('the log-rank test', () => {
  // R 4.2.2, survival 3.5-3: survdiff(Surv(time, status) ~ group).
  it('is the published one of 6-MP against placebo', () => {
    const found = tested([TREATED, PLACEBO])
    expect(found.chi2).toBeCloseTo(16.793, 3)
    expect(found.chi2).toBeCloseTo(16.7929409892165, 11)
    expect(found.p).toBeCloseTo(4.16880910933453e-5, 14)
    expect(found.groups.map(group => group.observed)).toEqual([9, 21])
    expect(found.groups[0]!.expected).toBeCloseTo(19.2505009480311, 11)
  })

  it('is that of R for three groups', () => {
    const found = tested([TREATED, PLACEBO, THIRD])
    expect(found.chi2).toBeCloseTo(17.1402662577781, 11)
    expect(found.df).toBe(2)
    expect(found.p).toBeCloseTo(0.00018968739525865, 13)
    const expected = [20.0492002137539, 10.9665034052512, 5.98429638099486]
    for (const [i, group] of found.groups.entries()) expect(group.expected).toBeCloseTo(expected[i]!, 11)
  })

  it('does not depend on the order of groups, and not on one in which no end could be seen', () => {
    const straight = tested([TREATED, PLACEBO, THIRD])
    expect(tested([THIRD, TREATED, PLACEBO]).chi2).toBeCloseTo(straight.chi2, 10)
    const more = tested([TREATED, [], PLACEBO, THIRD, spells('1+')].map(group => group.filter(one => one.length > 0)))
    expect(more.df).toBe(3)
    expect(tested([TREATED, [], PLACEBO, THIRD]).chi2).toBeCloseTo(straight.chi2, 10)
    expect(tested([TREATED, [], PLACEBO, THIRD]).df).toBe(2)
  })

  it('is told with the reason where there is none', () => {
    expect(logRank([TREATED])).toEqual({ reason: 'fewer than two groups in which an end could be seen' })
    expect(logRank([spells('3+ 4+'), spells('5+')])).toHaveProperty('reason')
    expect(logRank([[], []])).toHaveProperty('reason')
    expect(logRank([spells('5'), spells('5')])).toEqual({ reason: 'every end was that of the last spell at risk' })
  })
})

describe('cumulative incidence', () => {
  // R 4.2.2, survival 3.5-3: survfit(Surv(time, factor(cause, 0:3)) ~ 1)$pstate; cause 0 is censored.
  const lengths = [1, 2, 2, 3, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9, 10, 11, 12, 12, 14, 15]
  const causes = [1, 2, 1, 0, 1, 3, 2, 1, 0, 1, 2, 2, 0, 1, 3, 1, 0, 2, 1, 0]
  const caused = lengths.map((length, i): CausedSpell => ({ length, cause: causes[i] === 0 ? null : causes[i]! - 1 }))

  it('is that of R for three competing causes', () => {
    const steps = cumulativeIncidence(caused, 3)
    expect(steps.map(step => step.length)).toEqual([1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14])
    const known: Record<number, number[]> = {
      5: [0.642857142857143, 0.203571428571429, 0.103571428571429, 0.05],
      10: [0.333951762523191, 0.328803339517625, 0.220454545454545, 0.116790352504638],
      14: [0.100185528756957, 0.495779220779221, 0.287244897959184, 0.116790352504638],
    }
    for (const [length, [survival, ...incidence]] of Object.entries(known)) {
      const step = stepAt(steps, Number(length))!
      expect(step.survival).toBeCloseTo(survival!, 13)
      for (const [cause, share] of incidence.entries()) expect(step.incidence[cause]).toBeCloseTo(share, 13)
    }
    expect(stepAt(steps, 8)).toBe(stepAt(steps, 7))
    expect(stepAt(steps, 0)).toBeNull()
  })

  it('adds up to what does not last longer, and is Kaplan-Meier for one cause', () => {
    const random = new Random(31)
    for (let run = 0; run < 30; run++) {
      const sample = Array.from({ length: 80 }, (): CausedSpell => {
        const cause = random.below(5)
        return { length: 1 + random.below(25), cause: cause === 4 ? null : cause }
      })
      for (const { survival, incidence } of cumulativeIncidence(sample, 4)) {
        expect(incidence.reduce((sum, share) => sum + share, survival)).toBeCloseTo(1, 12)
      }
      const alone = sample.map(({ length, cause }) => ({ length, cause: cause === null ? null : 0 }))
      const plain = kaplanMeier(sample.map(({ length, cause }) => ({ length, ended: cause !== null })))
      expect(cumulativeIncidence(alone, 1).map(({ length, survival }) => [length, survival])).toEqual(
        plain.map(({ length, survival }) => [length, survival]),
      )
    }
  })
})

describe('spells that are alike', () => {
  it('count together as they do one by one, to the last digit', () => {
    const spell = fc.record({ length: fc.nat(6), cause: fc.option(fc.nat(2)), times: fc.integer({ min: 1, max: 9 }) })
    const groups = fc.array(fc.array(spell, { maxLength: 30 }), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(groups, counted => {
        const single = counted.map(group =>
          group.flatMap(({ times, ...one }) => Array.from({ length: times }, () => one)),
        )
        const ended = <One extends { cause: number | null }>(group: readonly One[]) =>
          group.map(({ cause, ...one }) => ({ ...one, ended: cause !== null }))
        for (const [g, group] of counted.entries()) {
          expect(kaplanMeier(ended(group))).toEqual(kaplanMeier(ended(single[g]!)))
          expect(cumulativeIncidence(group, 3)).toEqual(cumulativeIncidence(single[g]!, 3))
        }
        expect(logRank(counted.map(ended))).toEqual(logRank(single.map(ended)))
      }),
      { numRuns: 200 },
    )
  })
})

describe('equal rows by context', () => {
  const tables = [
    [
      [20, 15, 5],
      [10, 22, 8],
      [7, 3, 10],
    ],
    [
      [12, 9],
      [30, 4],
    ],
  ]

  it('is the sum of the chi-squares that SciPy has for each row', () => {
    // SciPy 1.10.1: chi2_contingency(table, correction=False); chi2.sf of the sums.
    const { total, rows } = andersonGoodman(tables)
    expect(rows[0]!.chi2).toBeCloseTo(17.255948883666274, 11)
    expect(rows[0]!.p).toBeCloseTo(0.0017236664904282481, 12)
    expect(rows[0]).toMatchObject({ df: 4, least_expected: 4.6 })
    expect(rows[1]!.chi2).toBeCloseTo(6.953088927878844, 11)
    expect(rows[1]!.p).toBeCloseTo(0.008367463309337103, 12)
    expect(total).toMatchObject({ df: 5, least_expected: 4.6 })
    expect(total!.chi2).toBeCloseTo(24.20903781154512, 11)
    expect(total!.p).toBeCloseTo(0.00019792267403814063, 12)
  })

  it('does not count contexts and destinations that a row never has', () => {
    const wider = [...tables[1]!.map(row => [...row.slice(0, 1), 0, ...row.slice(1)]), [0, 0, 0]]
    expect(homogeneity(wider)).toEqual(homogeneity(tables[1]!))
    expect(
      homogeneity([
        [3, 4],
        [0, 0],
      ]),
    ).toBeNull()
    expect(
      homogeneity([
        [3, 0],
        [4, 0],
      ]),
    ).toBeNull()
    expect(homogeneity([])).toBeNull()
    expect(
      andersonGoodman([
        [
          [3, 0],
          [4, 0],
        ],
      ]),
    ).toMatchObject({ total: null, reason: expect.any(String), rows: [null] })
  })
})

function tested(groups: readonly (readonly Spell[])[]): LogRank {
  const found = logRank(groups)
  if ('reason' in found) throw new Error(found.reason)
  return found
}

/** `6+` lasted longer than 6. */
function spells(text: string): Spell[] {
  return text.split(' ').map(word => ({ length: Number.parseInt(word, 10), ended: !word.endsWith('+') }))
}
