import { type Transitions, UNDEFINED } from '../model/record.js'

/** Keeps the defined bars on which the band differs from the one in force; undefined bars keep the band in force. */
export function transitions(codes: Uint8Array): Transitions {
  let initialBar = 0
  while (initialBar < codes.length && codes[initialBar] === UNDEFINED) initialBar++
  if (initialBar === codes.length)
    return { initialBar: -1, initialBand: UNDEFINED, bars: new Int32Array(), bands: new Uint8Array() }
  const bars: number[] = []
  let inForce = codes[initialBar]!
  for (let t = initialBar + 1; t < codes.length; t++) {
    if (codes[t] === UNDEFINED || codes[t] === inForce) continue
    inForce = codes[t]!
    bars.push(t)
  }
  return {
    initialBar,
    initialBand: codes[initialBar]!,
    bars: Int32Array.from(bars),
    bands: Uint8Array.from(bars, t => codes[t]!),
  }
}
