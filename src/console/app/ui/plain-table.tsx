import type { ReactNode } from 'react'

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
