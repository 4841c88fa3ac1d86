/** Which part of a list is wanted, newest first. */
export interface PageRequest {
  /** Most items in the answer; absent: all. */
  readonly limit?: number | undefined
  /** Items after this one, by its id; absent: from the newest. */
  readonly cursor?: string | undefined
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Leads to the next page; null at the end. */
  readonly nextCursor: string | null
}

/** How many rows a store reads for a page: one more than wanted tells whether there is a next page. */
export function rowsToRead({ limit }: PageRequest): number {
  return limit === undefined ? ROWS_MAX : limit + 1
}

/** As good as no limit. */
const ROWS_MAX = 2_147_483_647

/** Cuts rows read for a page, as many as `rowsToRead` said, down to the page. */
export function pageOf<Item extends { readonly id: string }>(
  rows: readonly Item[],
  { limit }: PageRequest,
): Page<Item> {
  if (limit === undefined || rows.length <= limit) return { items: rows, nextCursor: null }
  const items = rows.slice(0, limit)
  return { items, nextCursor: items.at(-1)?.id ?? null }
}
