export const KEY_PREFIX = 'bands_'

/** A text in which whatever could be a key, or a good part of one, is blotted out. */
export function redacted(text: string): string {
  return text.replace(LIKE_A_KEY, `${KEY_PREFIX}[key]`)
}

/** Longer than an identity and than most names of files, and short enough to leave no hint of the rest. */
const LIKE_A_KEY = new RegExp(`${KEY_PREFIX}[0-9A-Za-z]{20,}`, 'g')
