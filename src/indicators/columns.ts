/** The memory that `transient` lends to columns, and how much of it is in use. */
let memory = new Float64Array()
let used = 0
let lending = false

/**
 * Columns that `work` makes lie in one memory, which the next call uses again: asking for new memory, and having it
 * collected, costs a tenth of deriving a ticker. Nothing that `work` leaves behind may refer to a column made in it.
 */
export function transient<Result>(work: () => Result): Result {
  if (lending) return work()
  if (used > memory.length) memory = new Float64Array(used)
  used = 0
  lending = true
  try {
    return work()
  } finally {
    lending = false
  }
}

/** A column whose maker writes every value. */
export function column(length: number): Float64Array {
  if (!lending) return new Float64Array(length)
  const start = used
  used += length
  // What does not fit yet will at the next call.
  return used <= memory.length ? memory.subarray(start, used) : new Float64Array(length)
}

/** A column that is undefined on every bar, until its maker writes what is defined. */
export function undefinedColumn(length: number): Float64Array {
  return column(length).fill(Number.NaN)
}

/** @param from of the values before it there is none */
export function logarithms(values: Float64Array, from = 0): Float64Array {
  const logs = undefinedColumn(values.length)
  for (let t = Math.max(0, from); t < logs.length; t++) logs[t] = Math.log(values[t]!)
  return logs
}

export function negated(values: Float64Array): Float64Array {
  const turned = column(values.length)
  for (let t = 0; t < turned.length; t++) turned[t] = -values[t]!
  return turned
}
