import type { Source } from '../file/source.js'
import { delimiterName } from '../hints.js'
import type { Dialect } from './dialect.js'

/** How a table is written, in words for people. */
export function describeText(source: Source, dialect: Dialect): Record<string, string> {
  return {
    encoding: dialect.bom ? 'UTF-8 with BOM' : 'UTF-8',
    compression: source.compression,
    delimiter: delimiterName(dialect.delimiter),
    quotes: dialect.quoted ? 'yes' : 'no',
    'line ends': dialect.eol === '\r' ? 'CR' : dialect.crlf ? 'CRLF' : 'LF',
    header: dialect.header === null ? 'no' : 'yes',
  }
}
