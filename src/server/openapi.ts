import type { ErrorShape } from '../wire/error-body.js'
import type { OpenApiDocument } from './openapi/document.js'
import { HEADERS, REQUEST_HEADERS } from './openapi/headers.js'
import { operations, TAGS } from './openapi/operations.js'
import { refusals } from './openapi/refusals.js'
import { schemas } from './openapi/schemas.js'
import { TIERED_FIELDS, TIERS } from './openapi/tiers.js'

export interface OpenApiOptions {
  version: string
  /** The shape of errors that this server speaks; the document describes no other. */
  errors: ErrorShape
  /** Where the server is reached, such as https://bands.example; without it, where the document was found. */
  url?: string
}

/**
 * The service as an OpenAPI 3.1 document, made of what it works with: the tables of parameters, the schemas of answers,
 * the tiers, and the errors themselves.
 */
export function openApi({ version, errors, url }: OpenApiOptions): OpenApiDocument {
  return {
    openapi: '3.1.0',
    info: { title: 'bands', version, description: about(errors) },
    servers: [{ url: url ?? '/' }],
    tags: TAGS.map(tag => ({ ...tag })),
    paths: operations(url ?? '$BANDS_URL'),
    components: {
      schemas: schemas(errors),
      parameters: REQUEST_HEADERS,
      headers: HEADERS,
      responses: refusals(errors),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: keys(url) } },
    },
    'x-tiers': TIERS,
    'x-fields': TIERED_FIELDS,
  }
}

function about(shape: ErrorShape): string {
  return `When did a ticker change band, and what followed?

A band is a category such as oversold, made of a ticker's bars and facts. Every change of a band is an event; the service tells events, what followed them, and which tickers are oversold.

Every path answers GET and HEAD. ${ERRORS[shape]} Of several things that are wrong, the first is told: the key (401), the request (400), the tier (403), the ticker (404), the credits (429).`
}

const ERRORS: Readonly<Record<ErrorShape, string>> = {
  flat: "An error's body has its type in `error`, one sentence in `message`, and more beside them.",
  nested:
    "An error's body has one object, `error`, with its type in `type`, one sentence in `message`, and more beside them.",
}

function keys(url: string | undefined): string {
  return `A key is sent with every question as \`Authorization: Bearer bands_…\`, in one such header. In the examples it is \`BANDS_API_KEY\`${url === undefined ? ', and `BANDS_URL` is where the service is reached' : ''}. An account may have any number of keys; tier and credits are the account's.

Only answers 200 are charged. Credits are counted in days and hours of UTC; what is left is told with every answer to a known key.`
}
