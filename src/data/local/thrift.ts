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

  writeByte(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  writeInt32(value: number): void {
    this.reserve(4)
    this.view.setInt32(this.length, value, true)
    this.length += 4
  }

  /** Writes a whole number of 0 or more, up to 53 bits: seven bits a byte, lowest first. */
  writeVarint(value: number): void {
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
  #lastField = 0

  constructor(out: Bytes) {
    this.#out = out
  }

  /** Writes a field with an integer of 0 or more, which the protocol doubles (zigzag). */
  writeInteger(field: number, value: number, type = I32): void {
    this.#startField(field, type)
    this.#out.writeVarint(value * 2)
  }

  writeLong(field: number, value: number): void {
    this.writeInteger(field, value, I64)
  }

  writeBinary(field: number, value: Uint8Array): void {
    this.#startField(field, BINARY)
    this.#writeBytes(value)
  }

  writeText(field: number, value: string): void {
    this.writeBinary(field, Buffer.from(value))
  }

  writeIntegers(field: number, values: readonly number[]): void {
    this.#startList(field, I32, values.length)
    for (const value of values) this.#out.writeVarint(value * 2)
  }

  writeTexts(field: number, values: readonly string[]): void {
    this.#startList(field, BINARY, values.length)
    for (const value of values) this.#writeBytes(Buffer.from(value))
  }

  writeStruct(field: number, write: () => void): void {
    this.#startField(field, STRUCT)
    this.#writeFields(write)
  }

  writeStructs<Item>(field: number, items: readonly Item[], write: (item: Item, index: number) => void): void {
    this.#startList(field, STRUCT, items.length)
    for (const [i, item] of items.entries()) this.#writeFields(() => write(item, i))
  }

  endStruct(): void {
    this.#out.writeByte(0)
  }

  /** Writes a struct within a struct: its field numbers begin again at 0. */
  #writeFields(write: () => void): void {
    const field = this.#lastField
    this.#lastField = 0
    write()
    this.endStruct()
    this.#lastField = field
  }

  #writeBytes(value: Uint8Array): void {
    this.#out.writeVarint(value.length)
    this.#out.append(value)
  }

  /** Writes the head of a field with a list of `length` values of a type. */
  #startList(field: number, type: number, length: number): void {
    this.#startField(field, LIST)
    this.#out.writeByte((Math.min(length, 15) << 4) | type)
    if (length > 14) this.#out.writeVarint(length)
  }

  /** Writes the head of a field: its number as the difference to the last one, and its type. */
  #startField(field: number, type: number): void {
    this.#out.writeByte(((field - this.#lastField) << 4) | type)
    this.#lastField = field
  }
}
