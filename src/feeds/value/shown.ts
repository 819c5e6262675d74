/** A value from a file as it may be printed. */
export { quoted as shown } from '../../errors.js'

/** `1 row`, `2 rows`, `1,259 rows`. */
export function counted(count: number, thing: string): string {
  return `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`
}
