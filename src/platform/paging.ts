import { lt, type SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'

/** Part of a list to read, newest first. */
export interface PageRequest {
  /** Most items in the page. */
  readonly limit: number
  /** Id of the item before the page; absent: the page starts with the newest item. */
  readonly cursor?: string | undefined
}

/** Part of a list as a caller asks for it. */
export type ListRequest = Omit<PageRequest, 'limit'> & {
  /** Absent: all items. */
  readonly limit?: number | undefined
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Leads to the next page; null at the end. */
  readonly nextCursor: string | null
}

export type PageReader<Item> = (page: PageRequest) => Promise<Page<Item>>

/** Items in each portion of a list without a limit: a millisecond or two of work. */
export const PORTION_ITEMS = 500

/**
 * Reads all items of a list after a cursor, one portion after the other. An item that exists from
 * the first portion to the last is read exactly once, whatever is added or removed meanwhile. An
 * item that is added meanwhile is newer than the first portion, and is not read.
 */
export async function* listPortions<Item>(
  read: PageReader<Item>,
  cursor?: string | undefined,
): AsyncGenerator<readonly Item[]> {
  let next: string | null | undefined = cursor
  do {
    const page: Page<Item> = await read({ limit: PORTION_ITEMS, cursor: next })
    yield page.items
    next = page.nextCursor
  } while (next !== null)
}

/** Reads all items of a list, for callers that have the time and the memory. */
export async function listAll<Item>(read: PageReader<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const portion of listPortions(read)) for (const item of portion) all.push(item)
  return all
}

/**
 * Rows that a store reads for a page: one more than the page holds shows whether there is a next
 * page.
 */
export function rowsToRead({ limit }: PageRequest): number {
  return limit + 1
}

/** Condition of a page's query: only rows after the cursor, in descending order of the ids. */
export function rowsAfter({ cursor }: PageRequest, id: PgColumn): SQL | undefined {
  return cursor === undefined ? undefined : lt(id, cursor)
}

/** Makes a page of the rows that were read for it, at most `rowsToRead`. */
export function makePage<Item extends { readonly id: string }>(
  rows: readonly Item[],
  { limit }: PageRequest,
): Page<Item> {
  if (rows.length <= limit) return { items: rows, nextCursor: null }
  const items = rows.slice(0, limit)
  return { items, nextCursor: items.at(-1)?.id ?? null }
}
