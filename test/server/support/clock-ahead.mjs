// node --import: the clock of this process differs by BANDS_TEST_AHEAD milliseconds.
const ahead = Number(process.env.BANDS_TEST_AHEAD)
const { now } = Date
globalThis.Date = class extends Date {
  constructor(...of) {
    if (of.length === 0) super(now() + ahead)
    else super(...of)
  }

  static now() {
    return now() + ahead
  }
}
