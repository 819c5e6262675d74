/** `1,259 rows`, `1 row`. */
export function count(number: number, thing: string): string {
  return `${whole(number)} ${thing}${number === 1 ? '' : 's'}`
}

/** With separators between thousands, the same in every locale. */
export function whole(number: number): string {
  return number.toLocaleString('en-US')
}

/** `3.1 of 12.4 MB`. */
export function bytes(done: number, of: number | null): string {
  const mega = (size: number): string => (size / 1e6).toFixed(1)
  return of === null ? `${mega(done)} MB` : `${mega(done)} of ${mega(of)} MB`
}

/** A price or an indicator in at most six significant digits, never in powers of ten unless it is tiny. */
export function figure(value: number): string {
  if (value === 0) return '0'
  if (Math.abs(value) >= 1e5) return whole(Math.round(value))
  return String(Number(value.toPrecision(6)))
}
