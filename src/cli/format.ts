/** How an answer is written. */
export type Format = 'table' | 'json' | 'ndjson' | 'csv' | 'parquet'

/** What every question can be written as. */
export const QUESTION_OUTPUTS: readonly Format[] = ['table', 'json', 'ndjson', 'csv']
