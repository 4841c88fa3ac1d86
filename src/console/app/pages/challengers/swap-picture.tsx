import type { Schemas } from '../../api/types.ts'
import { percent, whole } from '../../ui/figures.ts'
import { ScrollTable } from '../../ui/plain-table.tsx'

/** The four fields of a swap set; those whom one of both approves stand out. */
export function SwapPicture(props: { swap: Schemas['SwapSet']; name: string; caption: string }) {
  const { swap, name, caption } = props
  const { both_approve, swap_out, swap_in, both_decline } = swap.cells
  const rows = [
    ['Champion approves', both_approve, swap_out],
    ['Champion declines', swap_in, both_decline],
  ] as const
  return (
    <ScrollTable caption={caption} className="swap">
      <thead>
        <tr>
          <td />
          <th scope="col">{name} approves</th>
          <th scope="col">{name} declines</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([head, ...cells]) => (
          <tr key={head}>
            <th scope="row">{head}</th>
            {cells.map((cell, at) => (
              <td key={at === 0 ? 'approves' : 'declines'} className={describeCell(cell, swap)}>
                <strong>{whole(cell.n)}</strong>{' '}
                <span className="muted">{percent(cell.share)}</span>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </ScrollTable>
  )
}

function describeCell(cell: Schemas['SwapCell'], { cells }: Schemas['SwapSet']): string {
  if (cell === cells.swap_in) return 'swap-in'
  return cell === cells.swap_out ? 'swap-out' : ''
}
