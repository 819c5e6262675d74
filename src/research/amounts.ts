/** With separators between thousands, the same in every locale. */
export function whole(n: number): string {
  return n.toLocaleString('en-US')
}

/** `1,259 trades`, `1 trade`. */
export function counted(n: number, thing: string): string {
  return `${whole(n)} ${thing}${n === 1 ? '' : 's'}`
}
