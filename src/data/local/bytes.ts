/** Bytes that grow at their end. */
export class Bytes {
  bytes: Buffer<ArrayBuffer>
  length = 0

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafeSlow(size)
  }

  /** Makes room for further bytes. */
  reserve(more: number): void {
    if (this.length + more <= this.bytes.length) return
    const bytes = Buffer.allocUnsafeSlow(2 * (this.length + more))
    this.bytes.copy(bytes, 0, 0, this.length)
    this.bytes = bytes
  }

  writeByte(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  writeInt32(value: number): void {
    this.reserve(4)
    this.length = this.bytes.writeInt32LE(value, this.length)
  }

  /** Writes a whole number of 0 or more, up to 53 bits: seven bits a byte, lowest first. */
  writeVarint(value: number): void {
    this.reserve(8)
    let rest = value
    for (; rest > 0x7f; rest = Math.floor(rest / 128)) this.bytes[this.length++] = (rest % 128) | 0x80
    this.bytes[this.length++] = rest
  }

  writeText(text: string): void {
    // A character has three bytes at most.
    this.reserve(3 * text.length)
    this.length += this.bytes.write(text, this.length)
  }

  append(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** Appends the bytes `start` up to `end` of others. */
  copy(from: Bytes, start: number, end: number): void {
    this.reserve(end - start)
    this.length += from.bytes.copy(this.bytes, this.length, start, end)
  }

  /** The written bytes, as a view: nothing may be written after this. */
  writtenBytes(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length)
  }
}
