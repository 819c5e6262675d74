/** Where an export goes. `write` resolves when the chunk is handed over, so a slow reader slows the export. */
export interface Sink {
  write(chunk: string | Uint8Array): Promise<void>
}

/** Text is handed over in pieces of about this many characters. */
const CHUNK = 65_536

/** Rows as lines of text; nothing is written before the first row is there, so a refused export leaves no header behind. */
export async function writeLines<Row>(
  rows: AsyncIterable<Row>,
  sink: Sink,
  line: (row: Row) => string,
  header = '',
): Promise<void> {
  let text = header
  for await (const row of rows) {
    text += line(row)
    if (text.length < CHUNK) continue
    await sink.write(text)
    text = ''
  }
  if (text !== '') await sink.write(text)
}
