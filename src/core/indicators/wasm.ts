/** Absent from the types of Node 22, and where V8 runs without a compiler. */
declare const WebAssembly:
  | { Module: new (bytes: Uint8Array) => object; Instance: new <E>(module: object) => { exports: E } }
  | undefined

/** The exports of a module whose bytes are given in base 64; null where WebAssembly with vectors (SIMD) cannot run. */
export function instantiated<Exports>(wasm: string): Exports | null {
  if (typeof WebAssembly === 'undefined') return null
  try {
    const bytes = Uint8Array.from(atob(wasm), character => character.charCodeAt(0))
    return new WebAssembly.Instance<Exports>(new WebAssembly.Module(bytes)).exports
  } catch {
    // A processor without vectors cannot compile it.
    return null
  }
}
