/** For one question, with all its attempts and waits. */
export const DEFAULT_TIMEOUT_MS = 30_000

/** Attempts after the first. */
export const DEFAULT_RETRIES = 3
