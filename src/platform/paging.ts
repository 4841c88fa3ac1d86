import { and, desc, lt, type SQL } from 'drizzle-orm'
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

/** A selection without conditions. */
interface Selection<Row> {
  where(condition: SQL | undefined): {
    orderBy(order: SQL): { limit(rows: number): PromiseLike<Row[]> }
  }
}

/**
 * Reads a page of a selection, newest first.
 *
 * @param id of a row, or what else rises with time
 */
export async function readPage<Row extends { readonly id: string }>(
  selection: Selection<Row>,
  page: PageRequest,
  id: PgColumn,
  ...conditions: (SQL | undefined)[]
): Promise<Page<Row>> {
  const isAfter = page.cursor === undefined ? undefined : lt(id, page.cursor)
  const rows = await selection
    .where(and(...conditions, isAfter))
    .orderBy(desc(id))
    .limit(rowsToRead(page))
  return makePage(rows, page)
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

/** Makes each item of a page another one. */
export function mapPage<From, To>(
  { items, nextCursor }: Page<From>,
  map: (item: From) => To,
): Page<To> {
  return { items: items.map(map), nextCursor }
}
