import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { AppError } from '../errors.ts'
import { type ListRequest, type PageReader, PORTION_ITEMS, portionsOf } from '../platform/paging.ts'
import { errorFacts } from './error-facts.ts'
import { JSON_TYPE, nextCursor } from './reply.ts'
import { traceFactsOf } from './trace.ts'

/** How a list is read and written. */
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
  const textOf = (items: readonly Item[]) => String(reply.serialize(answer(items)))
  const texts = listTexts(textOf, first.items, portionsOf(read, first.nextCursor))
  const body = Readable.from(notingFailure(texts, reply), { objectMode: false })
  return reply.type(JSON_TYPE).send(body)
}

const END = ']}'

/** Pieces of `{"items":[…]}`, each made from the text that a list of its items has. */
async function* listTexts<Item>(
  textOf: (items: readonly Item[]) => string,
  first: readonly Item[],
  others: AsyncIterable<readonly Item[]>,
): AsyncGenerator<string> {
  const head = textOf([]).slice(0, -END.length)
  yield textOf(first).slice(0, -END.length)
  for await (const items of others) {
    if (items.length > 0) yield `,${textOf(items).slice(head.length, -END.length)}`
  }
  yield END
}

/** Logged here: whoever ends the connection would log the error with its message. */
async function* notingFailure(
  texts: AsyncIterable<string>,
  { request }: FastifyReply,
): AsyncGenerator<string> {
  try {
    yield* texts
  } catch (error) {
    const { operation } = request.routeOptions.config
    request.log.warn(
      { requestId: request.id, operation, ...traceFactsOf(request), err: errorFacts(error) },
      'a list broke off',
    )
    throw new AppError('unavailable', 'the list could not be read to its end')
  }
}
