import type { BandsError } from '../errors.js'

/** `flat` as the specification prints its 401; `nested` as the vendor's official clients read errors. */
export type ErrorShape = 'flat' | 'nested'
export const ERROR_SHAPES: readonly ErrorShape[] = ['flat', 'nested']

/** An error as the body of an answer. */
export function errorBody(error: BandsError, shape: ErrorShape): Record<string, unknown> {
  return bodyOf(error.code, error.message, error.payload(), shape)
}

/** A fault of the server's own: nothing of it is told but the number under which its log has it. */
export function internalErrorBody(requestId: string, shape: ErrorShape): Record<string, unknown> {
  return bodyOf('internal_error', 'The server failed; its log has the request id.', { request_id: requestId }, shape)
}

function bodyOf(
  type: string,
  message: string,
  payload: Record<string, unknown>,
  shape: ErrorShape,
): Record<string, unknown> {
  return shape === 'flat' ? { error: type, message, ...payload } : { error: { type, message, ...payload } }
}
