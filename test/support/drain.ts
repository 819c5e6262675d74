import type { Sink } from '../../src/app/cli/formats.js'

/** All that a generator yields. */
export async function drained<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Items one by one, as a generator that waits gives them. */
export async function* flowing<T>(items: Iterable<T>): AsyncGenerator<T> {
  for (const item of items) yield item
}

/** A sink that keeps what it is given. */
export class Kept implements Sink {
  readonly chunks: Buffer[] = []

  async write(chunk: string | Uint8Array): Promise<void> {
    this.chunks.push(Buffer.from(chunk as string))
  }

  get bytes(): Buffer {
    return Buffer.concat(this.chunks)
  }

  get text(): string {
    return this.bytes.toString('utf8')
  }
}
