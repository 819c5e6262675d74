/** What a report says of itself; not part of the result. No time is in it: the same question has the same page. */
export interface ReportAbout {
  /** The command line that made it. */
  command: string
  /** Of the program. */
  version: string
  /** Where prices and bands are from, in words. */
  source: string
  as_of: string | null
  /** The tier that was emulated; null: all that is loaded. */
  tier: string | null
  /** In words: `adjusted for splits and dividends`; null where the tickers differ or nobody knows. */
  adjustment: string | null
  /** SHA-256 of prices and bands, as `hashOfInputs` gives it; null where it was not made. */
  inputs: string | null
}
