const known = new Map<string, string>()

/** A colour of the style sheet by its name, such as `accent`: of the light page or of the dark one. */
export function colour(name: string): string {
  let value = known.get(name)
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
    known.set(name, value)
  }
  return value
}

/** The same colour, so much of it as said: 0 to 1. */
export function faded(name: string, strength: number): string {
  const value = colour(name)
  const part = Math.round(strength * 255)
  return /^#[0-9a-f]{6}$/i.test(value) ? `${value}${part.toString(16).padStart(2, '0')}` : value
}

/** Calls back whenever the page turns from light to dark, or back. */
export function onColoursChange(changed: () => void): void {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    known.clear()
    changed()
  })
}
