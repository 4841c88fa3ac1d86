import { Button } from '@mantine/core'
import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Loaded } from './states.tsx'

interface PageOfList {
  readonly next_cursor?: string | undefined
}

const ROWS = 100

/** A list that comes page by page; `ask` gets the part of the query for one page. */
export function usePages<Answer extends PageOfList>(
  queryKey: QueryKey,
  ask: (page: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<Answer>,
  options: { readonly refetchInterval?: number } = {},
) {
  return useInfiniteQuery({
    ...options,
    queryKey,
    queryFn: ({ pageParam, signal }) =>
      ask({ limit: ROWS, ...(pageParam !== '' && { cursor: pageParam }) }, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }: Answer) => next_cursor,
  })
}

export function Pages<Answer extends PageOfList, Row>(props: {
  of: ReturnType<typeof usePages<Answer>>
  rows: (answer: Answer) => readonly Row[]
  /** Stands for a list of nothing. */
  empty?: ReactNode
  children: (rows: readonly Row[]) => ReactNode
}) {
  const { of: list, rows, empty, children } = props
  return (
    <>
      <Loaded of={list}>
        {({ pages }) => {
          const found = pages.flatMap(rows)
          return empty && found.length === 0 ? empty : children(found)
        }}
      </Loaded>
      {list.hasNextPage && (
        <p className="more">
          <Button
            variant="default"
            loading={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            Show more
          </Button>
        </p>
      )}
    </>
  )
}
