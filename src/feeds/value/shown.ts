/** A value from a file as it may be printed: in quotes, control characters escaped, cut when it is long. */
export function shown(text: string): string {
  const cut = [...text].length > 40 ? `${[...text].slice(0, 40).join('')}…` : text
  return JSON.stringify(cut).replace(/[\u007f-\u009f\u2028\u2029]/g, sign => {
    return `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/** `1 row`, `2 rows`, `1,259 rows`. */
export function counted(count: number, thing: string): string {
  return `${count.toLocaleString('en-US')} ${thing}${count === 1 ? '' : 's'}`
}
