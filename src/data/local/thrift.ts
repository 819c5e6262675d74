import type { Bytes } from './bytes.js'

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
