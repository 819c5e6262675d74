/** One field's events as they are kept. */
export interface FieldRow {
  field: string
  events: number
  columns: Buffer
}

/** Content hash of a ticker's bars. */
export function barsHash(columns: Buffer, unadjusted: Buffer | null): string {
  return digest(unadjusted === null ? [columns] : [columns, unadjusted])
}

/** Content hash of one kind of a ticker's facts. */
export function sheetHash(sheet: string): string {
  return digest([Buffer.from(sheet)])
}

/** Content hash of all that was derived for one ticker and timeframe; the order of the fields does not matter. */
export function derivedHash(calendar: Buffer, outcomes: Buffer, fields: readonly FieldRow[]): string {
  const rows = fields.toSorted((a, b) => (a.field < b.field ? -1 : 1))
  return digest([calendar, outcomes, ...rows.flatMap(row => [row.field, String(row.events), row.columns])])
}

/** Each part is preceded by its length, so that no two lists of parts read the same. */
export function digest(parts: readonly (Buffer | string)[]): string {
  // Not imported above: a question that loads the schema hashes nothing, and node:crypto costs it a millisecond or two.
  const hash = process.getBuiltinModule('node:crypto').createHash('sha256')
  for (const part of parts) {
    hash.update(`${part.length}:`)
    hash.update(part)
  }
  return hash.digest('hex').slice(0, 32)
}
