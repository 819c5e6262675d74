/** Section 3: the quarters known at a bar and the fields that stand on them alone. */
import type { Report } from '../../../src/core/model/facts.js'
import type { Company } from './facts.js'
import { latest, onBasisOfBars, usableOn } from './facts-records.js'
import { atLeast, moreThan } from './facts-tolerance.js'

export type Figure = 'eps' | 'revenue' | 'book_value_ps'

/** The newest period first, up to the first gap; none when even the newest is too old. */
export function quartersAt(company: Company, t: number): Report[] {
  const date = company.days[t]!
  const usable = usableOn(company.facts!.reports, date)
  const ends = [...new Set(usable.map(report => report.period_end))].sort((a, b) => b - a)
  if (ends.length === 0 || date - ends[0]! > 200) return []
  const chain: Report[] = []
  for (const [i, end] of ends.entries()) {
    if (i > 0) {
      const apart = ends[i - 1]! - end
      if (apart < 70 || apart > 110) break
    }
    const version = latest(usable.filter(report => report.period_end === end))!
    chain.push(onBasisOfBars(version, company, t))
  }
  return chain
}

/** The sum over four quarters, of which the newest is number `from`; null when one is missing. */
export function trailing(quarters: readonly Report[], figure: Figure, from = 0): number | null {
  let sum = 0
  for (let i = from; i < from + 4; i += 1) {
    const value = quarters[i]?.[figure] ?? null
    if (value === null) return null
    sum += value
  }
  return sum
}

export function growthZone(quarters: readonly Report[]): string | null {
  const now = trailing(quarters, 'revenue')
  const before = trailing(quarters, 'revenue', 4)
  if (now === null || before === null || !(before > 0)) return null
  const growth = now / before - 1
  if (atLeast(growth, 0.2)) return 'high_growth'
  if (atLeast(growth, 0.1)) return 'moderate_growth'
  if (atLeast(growth, 0.03)) return 'stable'
  if (atLeast(growth, 0)) return 'slowing'
  return 'shrinking'
}

export function revenueGrowthDirection(quarters: readonly Report[]): string | null {
  const growth = (i: number): number | null => {
    const now = quarters[i]?.revenue ?? null
    const before = quarters[i + 4]?.revenue ?? null
    return now === null || before === null || !(before > 0) ? null : now / before - 1
  }
  return direction(growth(0), growth(1), 0.02)
}

export function epsGrowthDirection(quarters: readonly Report[]): string | null {
  const growth = (i: number): number | null => {
    const now = quarters[i]?.eps ?? null
    const before = quarters[i + 4]?.eps ?? null
    if (now === null || before === null || !atLeast(Math.abs(before), 0.01)) return null
    return (now - before) / Math.abs(before)
  }
  return direction(growth(0), growth(1), 0.05)
}

function direction(g: number | null, h: number | null, change: number): string | null {
  if (g === null || h === null) return null
  if (atLeast(g - h, change)) return 'accelerating'
  if (moreThan(g - h, -change)) return 'steady'
  return g < 0 ? 'deteriorating' : 'decelerating'
}
