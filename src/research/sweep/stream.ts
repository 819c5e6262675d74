import { Random } from '../../random.js'

/**
 * The generator of whatever has a name: its stream is the hash of the name, so that neither the order of cells nor a cell
 * more or less changes what another one draws. FNV-1a (Fowler, Noll, Vo), 32 bits.
 */
export function namedStream(seed: number, name: string): Random {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return Random.stream(new Random(seed).word(), hash)
}
