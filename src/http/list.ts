import type { FastifyReply } from 'fastify'
import {
  type ListRequest,
  listPortions,
  type PageReader,
  PORTION_ITEMS,
} from '../platform/paging.ts'
import { JSON_TYPE, nextCursor } from './reply.ts'
import { sendChunks } from './text-stream.ts'

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
