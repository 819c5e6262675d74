/** Bytes that grow at their end. */
export class Bytes {
  bytes: Uint8Array<ArrayBuffer>
  view: DataView
  length = 0

  constructor(size: number) {
    this.bytes = new Uint8Array(size)
    this.view = new DataView(this.bytes.buffer)
  }

  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const bytes = new Uint8Array(2 * (this.length + more))
    bytes.set(this.bytes.subarray(0, this.length))
    this.bytes = bytes
    this.view = new DataView(bytes.buffer)
  }

  byte(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  int32(value: number): void {
    this.reserve(4)
    this.view.setInt32(this.length, value, true)
    this.length += 4
  }

  /** A whole number of up to 53 bits. */
  varint(value: number): void {
    this.reserve(8)
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.bytes[this.length++] = (rest % 128) | 0x80
    this.bytes[this.length++] = rest
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  writtenBytes(): Uint8Array<ArrayBuffer> {
    return this.bytes.slice(0, this.length)
  }
}

/** The type numbers of the protocol. */
const I32 = 5
const I64 = 6
const BINARY = 8
const LIST = 9
const STRUCT = 12

/** Writes a struct in the compact protocol of Thrift, in which Parquet describes pages and files. */
export class Thrift {
  readonly #out: Bytes
  #field = 0

  constructor(out: Bytes) {
    this.#out = out
  }

  integer(field: number, value: number, type = I32): void {
    this.#startField(field, type)
    this.#out.varint(value * 2)
  }

  long(field: number, value: number): void {
    this.integer(field, value, I64)
  }

  binary(field: number, value: Uint8Array): void {
    this.#startField(field, BINARY)
    this.#writeBytes(value)
  }

  text(field: number, value: string): void {
    this.binary(field, Buffer.from(value))
  }

  integers(field: number, values: readonly number[]): void {
    this.#startList(field, I32, values.length)
    for (const value of values) this.#out.varint(value * 2)
  }

  texts(field: number, values: readonly string[]): void {
    this.#startList(field, BINARY, values.length)
    for (const value of values) this.#writeBytes(Buffer.from(value))
  }

  struct(field: number, write: () => void): void {
    this.#startField(field, STRUCT)
    this.#writeStruct(write)
  }

  structs<Item>(field: number, items: readonly Item[], write: (item: Item, index: number) => void): void {
    this.#startList(field, STRUCT, items.length)
    for (const [i, item] of items.entries()) this.#writeStruct(() => write(item, i))
  }

  end(): void {
    this.#out.byte(0)
  }

  /** Writes a struct within a struct: its field numbers begin again at 0. */
  #writeStruct(write: () => void): void {
    const field = this.#field
    this.#field = 0
    write()
    this.end()
    this.#field = field
  }

  #writeBytes(value: Uint8Array): void {
    this.#out.varint(value.length)
    this.#out.append(value)
  }

  #startList(field: number, type: number, length: number): void {
    this.#startField(field, LIST)
    this.#out.byte((Math.min(length, 15) << 4) | type)
    if (length > 14) this.#out.varint(length)
  }

  #startField(field: number, type: number): void {
    this.#out.byte(((field - this.#field) << 4) | type)
    this.#field = field
  }
}
