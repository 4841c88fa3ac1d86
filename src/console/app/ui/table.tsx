import { TextInput } from '@mantine/core'
import { useSet } from '@mantine/hooks'
import type { UseQueryResult } from '@tanstack/react-query'
import {
  type ColumnDef,
  columnFilteringFeature,
  createFilteredRowModel,
  createSortedRowModel,
  filterFns,
  globalFilteringFeature,
  rowSortingFeature,
  type SortingState,
  sortFns,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { Fragment, type ReactNode, useEffect, useMemo } from 'react'
import { useAddress } from './address.ts'
import { type RowAction, RowActions, When } from './facts.tsx'
import { counted } from './figures.ts'
import { Loaded } from './states.tsx'

/** A column of a `DataTable`, drawn by `cell` or `figure`; the first one names the rows. */
export interface Column<Row> {
  readonly head: string
  readonly cell?: (row: Row) => ReactNode
  readonly figure?: (row: Row) => ReactNode
  /** Returns the moment that the column shows and sorts by. */
  readonly when?: (row: Row) => string | null
  /** Returns what the column sorts by, and shows by default; without it, it does not sort. */
  readonly value?: (row: Row) => string | number | null
  readonly text?: (row: Row) => string
}

/** Columns of a table; one that a role does not have is null or false. */
export type Columns<Row> = readonly (Column<Row> | null | false)[]

interface DataTableProps<Row> {
  readonly caption: string
  readonly rows: readonly Row[]
  readonly columns: Columns<Row>
  /** Tells rows apart, where they change or open; by default their ids, or places, do. */
  readonly rowKey?: (row: Row) => string
  /** Label of a search field; without it, there is none. */
  readonly search?: string
  readonly filters?: ReactNode
  readonly detail?: (row: Row) => ReactNode
  readonly empty?: ReactNode
}

/** A column of figures that it sorts by. */
export function sorted<Row>(
  head: string,
  value: (row: Row) => number | null,
  format: (value: number | null) => string,
): Column<Row> {
  return { head, value, figure: (row) => format(value(row)) }
}

/** A column of what may be done with a row, if a role may do anything. */
export function actions<Row>(
  head: string,
  list: ((row: Row) => readonly RowAction[] | string) | null | false,
): Column<Row> | null {
  if (!list) return null
  const cell = (row: Row) => {
    const found = list(row)
    return typeof found === 'string' ? (
      <span className="muted">{found}</span>
    ) : (
      <RowActions actions={found} />
    )
  }
  return { head, cell }
}

/** A table of a list that is asked for; `none` stands for an empty one. */
export function ListTable<Row extends object>(
  props: Omit<DataTableProps<Row>, 'rows'> & {
    of: UseQueryResult<readonly Row[]>
    none?: ReactNode
  },
) {
  const { of, none, ...table } = props
  return (
    <Loaded of={of} empty={none}>
      {(rows) => <DataTable rows={rows} {...table} />}
    </Loaded>
  )
}

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns,
  columnFilteringFeature,
  globalFilteringFeature,
  filteredRowModel: createFilteredRowModel(),
  filterFns,
})

/**
 * A table that sorts and searches. Search and order are in the address. In narrow windows each row
 * becomes a card.
 */
export function DataTable<Row extends object>({
  caption,
  rows,
  columns: all,
  rowKey,
  search: searchLabel,
  filters,
  detail,
  empty,
}: DataTableProps<Row>) {
  const [address, change] = useAddress()
  const open = useSet<string>()
  // A page has one table that searches and sorts; the address is not about its others.
  const text = searchLabel === undefined ? '' : (address['q'] ?? '')
  const columns = useMemo(() => all.filter((column) => !!column), [all])
  const definitions = useMemo(() => columns.map((column) => define(column)), [columns])
  const order = readOrder(address['sort'])
  const isKnown = definitions.some(({ id, enableSorting }) => enableSorting && id === order?.id)
  const sorting: SortingState = order && isKnown ? [order] : []
  const isStale = order && !isKnown && definitions.some(({ enableSorting }) => enableSorting)
  // An address with a former name of a column must not promise an order that is not there.
  useEffect(() => {
    if (isStale) change({ sort: undefined })
  }, [isStale, change])
  const table = useTable({
    features,
    columns: definitions,
    data: rows as Row[],
    getRowId: rowKey ?? ((row, at) => ('id' in row ? String(row.id) : String(at))),
    state: { sorting, globalFilter: text },
    globalFilterFn: (row, _column, sought: string) =>
      columns.some(({ text: read }) =>
        read?.(row.original).toLowerCase().includes(sought.trim().toLowerCase()),
      ),
    getColumnCanGlobalFilter: (column) => column.id === definitions[0]?.id,
  })
  const found = text.trim() === '' ? rows.length : table.getFilteredRowModel().rows.length
  const shown = table.getRowModel().rows
  const sort = (id: string) => change({ sort: nextOrder(id, sorting[0]) })
  return (
    <div className="table-frame">
      {(searchLabel || filters) && (
        <div className="table-tools">
          {searchLabel && (
            <TextInput
              type="search"
              label={searchLabel}
              value={text}
              onChange={({ currentTarget }) => change({ q: currentTarget.value })}
            />
          )}
          {filters}
          {text.trim() !== '' && <p role="status">{counted(found, 'match', 'matches')}</p>}
        </div>
      )}
      <ScrollTable caption={caption}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.head} column={column} order={sorting[0]} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <Fragment key={row.id}>
              <tr>
                {columns.map((column, at) => (
                  <Cell key={column.head} column={column} row={row.original} isName={at === 0}>
                    {detail && at === 0 && (
                      <button
                        type="button"
                        className="opener"
                        aria-expanded={open.has(row.id)}
                        aria-label={`Details of ${nameIn(column, row.original) ?? row.id}`}
                        onClick={() => open.delete(row.id) || open.add(row.id)}
                      />
                    )}
                  </Cell>
                ))}
              </tr>
              {detail && open.has(row.id) && (
                <tr className="detail">
                  <td colSpan={columns.length}>{detail(row.original)}</td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </ScrollTable>
      {shown.length === 0 && (empty ?? <p className="muted">Nothing is found.</p>)}
    </div>
  )
}

function nameIn<Row>({ value, text }: Column<Row>, row: Row): string | undefined {
  const name = value?.(row)
  return typeof name === 'string' ? name : text?.(row)
}

function define<Row extends object>(column: Column<Row>): ColumnDef<typeof features, Row> {
  const { head, when, value = when } = column
  return {
    id: columnId(head),
    header: head,
    accessorFn: (row) => value?.(row) ?? undefined,
    enableSorting: value !== undefined,
    sortFn: 'alphanumeric',
    sortUndefined: 'last',
  }
}

/** The name of a column in the address, where the order is by it. */
function columnId(head: string): string {
  return head.toLowerCase().replaceAll(' ', '-')
}

function Head<Row>({
  column: { head, figure, when, value = when },
  order,
  sort,
}: {
  column: Column<Row>
  order: SortingState[number] | undefined
  sort: (id: string) => void
}) {
  const id = columnId(head)
  const isSorted = order?.id === id
  const direction = order?.desc ? 'descending' : 'ascending'
  return (
    <th scope="col" className={figure && 'figure'} aria-sort={isSorted ? direction : 'none'}>
      {value === undefined ? (
        head
      ) : (
        <button type="button" className="sorter" onClick={() => sort(id)}>
          {head}
          <span aria-hidden="true">{isSorted ? (order.desc ? ' ↓' : ' ↑') : ''}</span>
        </button>
      )}
    </th>
  )
}

function Cell<Row>({
  column: { head, figure, when, value, cell = figure ?? value },
  row,
  isName,
  children,
}: {
  column: Column<Row>
  row: Row
  isName: boolean
  children: ReactNode
}) {
  const kind = figure && 'figure'
  const content = when ? <When at={when(row)} /> : cell?.(row)
  // A name may run from right to left, and be of any length.
  const shown = typeof content === 'string' && !figure ? <bdi>{content}</bdi> : content
  if (isName) {
    return (
      <th scope="row" className={kind}>
        {children}
        {shown}
      </th>
    )
  }
  return (
    <td className={kind} data-head={head}>
      {shown}
    </td>
  )
}

/** The order in an address: the id of a column, after `-` from the largest to the smallest. */
function readOrder(text: string | undefined): SortingState[number] | undefined {
  return text === undefined ? text : { id: text.replace(/^-/, ''), desc: text.startsWith('-') }
}

/** Up, down, and then as it came. */
function nextOrder(id: string, present: SortingState[number] | undefined): string | undefined {
  if (present?.id !== id) return id
  return present.desc ? undefined : `-${id}`
}

/** A table that neither sorts nor searches; `figures` names the columns of figures, from 0. */
export function PlainTable({
  caption,
  head,
  rows,
  figures = [],
}: {
  caption: string
  head: readonly string[]
  rows: readonly (readonly ReactNode[])[]
  figures?: readonly number[]
}) {
  const kind = (at: number) => (figures.includes(at) ? 'figure' : 'wrap')
  return (
    <div className="table-frame">
      <ScrollTable caption={caption}>
        <thead>
          <tr>
            {head.map((text, at) => (
              <th key={text} scope="col" className={kind(at)}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, ...cells], row) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the rows never change places
            <tr key={row}>
              <th scope="row" className={kind(0)}>
                {typeof name === 'string' ? <bdi>{name}</bdi> : name}
              </th>
              {cells.map((cell, at) => (
                <td key={head[at + 1]} className={kind(at + 1)} data-head={head[at + 1]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
    </div>
  )
}

/** A table with a name, which scrolls sideways where it is wider than its place. */
export function ScrollTable(props: { caption: string; className?: string; children: ReactNode }) {
  const { caption, className, children } = props
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs the keyboard
    <section className="scroll" aria-label={caption} tabIndex={0}>
      <table className={className}>
        <caption className="unseen">{caption}</caption>
        {children}
      </table>
    </section>
  )
}

/** A bar between two places of a cell, in percent of its width. */
export function Bar({ from, to, kind }: { from: number; to: number; kind: string }) {
  const place = { left: `${Math.min(from, to)}%`, width: `${Math.abs(to - from)}%` }
  return (
    <span className="step" aria-hidden="true">
      <span className={kind} style={place} />
    </span>
  )
}
