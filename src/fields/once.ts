/** What is made when it is first asked for, and kept under its name. */
export function once(): <T>(name: string, make: () => T) => T {
  const made = new Map<string, unknown>()
  return <T>(name: string, make: () => T): T => {
    if (!made.has(name)) made.set(name, make())
    return made.get(name) as T
  }
}
