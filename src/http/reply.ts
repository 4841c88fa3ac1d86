import type { FastifyReply } from 'fastify'
import type { AppError, ErrorCode, ErrorDetail } from '../errors.ts'
import {
  type ListRequest,
  listPortions,
  type PageReader,
  PORTION_ITEMS,
} from '../platform/paging.ts'
import { sendChunks } from './text-stream.ts'

interface ErrorReply {
  readonly error: ErrorCode
  readonly message: string
  readonly request_id: string
  readonly details?: readonly ErrorDetail[]
  readonly retry_after_ms?: number
}

export function errorReply(error: ErrorCode, message: string, requestId: string): ErrorReply {
  return { error, message, request_id: requestId }
}

export function failureReply(failure: AppError, requestId: string): ErrorReply {
  const { code, message, details, retryAfterMs } = failure
  return {
    ...errorReply(code, message, requestId),
    ...(details && { details }),
    ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
  }
}

/** The wait that a 503 names in `Retry-After`. */
export const RETRY_AFTER_SEC = 1
/** Content type of the responses that the service writes as text. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Makes the headers of an answer that a browser stores as a file and never shows.
 *
 * @param name has only characters that a header can contain
 */
export function fileHeaders(type: string, name: string) {
  return {
    'content-type': type,
    'content-disposition': `attachment; filename="${name}"`,
    'x-content-type-options': 'nosniff',
  }
}

/** Sends an answer that was written already. */
export function sendJson(reply: FastifyReply, body: Uint8Array<ArrayBuffer>): FastifyReply {
  const { buffer, byteOffset, byteLength } = body
  return reply.type(JSON_TYPE).send(Buffer.from(buffer, byteOffset, byteLength))
}

/** The last property of a list: present where there is a next page. */
export function nextCursor(cursor: string | null): { next_cursor?: string } {
  return cursor === null ? {} : { next_cursor: cursor }
}

/** The way a list is read and written. */
interface ListSource<Item, Answer extends object> {
  readonly read: PageReader<Item>
  /** An object whose one property is the array of the items. */
  readonly answer: (items: readonly Item[]) => Answer
}

/**
 * Answers a list: the page that was asked for, or everything. A long list goes out in portions as
 * they are read, so that neither memory nor the time of the event loop grows with it; its bytes are
 * those of one object. The answer of a list that can't be read to its end breaks off: it is not
 * JSON, and its connection ends.
 */
export async function sendList<Item, Answer extends object>(
  reply: FastifyReply,
  { limit, cursor }: ListRequest,
  { read, answer }: ListSource<Item, Answer>,
): Promise<(Answer & { next_cursor?: string }) | FastifyReply> {
  const first = await read({ limit: limit ?? PORTION_ITEMS, cursor })
  if (limit !== undefined || first.nextCursor === null) {
    return { ...answer(first.items), ...nextCursor(first.nextCursor) }
  }
  const formatText = (items: readonly Item[]) => String(reply.serialize(answer(items)))
  const texts = listTexts(formatText, first.items, listPortions(read, first.nextCursor))
  const headers = { 'content-type': JSON_TYPE }
  return sendChunks(reply, texts, { what: 'a list', headers })
}

const END = ']}'

/** Pieces of `{"items":[…]}`, each made from the text that a list of its items has. */
async function* listTexts<Item>(
  formatText: (items: readonly Item[]) => string,
  first: readonly Item[],
  others: AsyncIterable<readonly Item[]>,
): AsyncGenerator<string> {
  const head = formatText([]).slice(0, -END.length)
  yield formatText(first).slice(0, -END.length)
  for await (const items of others) {
    if (items.length > 0) yield `,${formatText(items).slice(head.length, -END.length)}`
  }
  yield END
}
