/** p-values by test, and how many of them are below 5 %. */
export class Rejections {
  readonly #found = new Map<string, number[]>()

  /** null, where a test has none, does not count. */
  add(test: string, p: number | null): void {
    const found = this.#found.get(test) ?? []
    if (p !== null) found.push(p)
    this.#found.set(test, found)
  }

  all(): { n: number; rejected: number }[] {
    return [...this.#found.keys()].map(test => this.of(test))
  }

  of(test: string): { n: number; rejected: number } {
    const p = this.#found.get(test) ?? []
    return { n: p.length, rejected: p.filter(value => value < 0.05).length }
  }

  /** Greatest distance of the p-values from what they would be if all were as likely (Kolmogorov). */
  distanceFromUniform(test: string): number {
    const p = this.#found.get(test)!.toSorted((a, b) => a - b)
    return Math.max(...p.map((value, i) => Math.max((i + 1) / p.length - value, value - i / p.length)))
  }

  /** For people: share of rejections and number of p-values, by test. */
  table(title: string): string {
    const rows = [...this.#found.keys()].map(test => {
      const { n, rejected } = this.of(test)
      return `  ${test.padEnd(26)} ${((100 * rejected) / n).toFixed(1).padStart(5)} %  of ${n}`
    })
    return [title, ...rows].join('\n')
  }
}

/** What a large run found, for whoever asked for it. */
export function print(text: string): void {
  process.stdout.write(`\n${text}\n`)
}
