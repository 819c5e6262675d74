/** Values of all headers of a name (in lower case), as they were sent: node merges some, and drops others. */
export function headersNamed(name: string, rawHeaders: readonly string[]): string[] {
  const found: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i]!
    if (header.length === name.length && header.toLowerCase() === name) found.push(rawHeaders[i + 1]!)
  }
  return found
}
