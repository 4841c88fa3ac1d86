import { useAnswer } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { percent, sampleSize, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { ScrollTable } from '../../ui/plain-table.tsx'
import { Loaded } from '../../ui/states.tsx'
import { useAbout } from '../deployment/frame.tsx'

/** Grades of the champion in rows, of the challenger in columns. */
export function Migration({ challengerId }: { challengerId: string }) {
  const { deployment, period } = useAbout()
  const params = {
    path: { slug: deployment.slug },
    query: { challenger_id: challengerId, ...period },
  }
  const asked = useAnswer('/v1/deployments/{slug}/migration', params)
  return (
    <Panel title="Migration of grades">
      <Loaded of={asked}>
        {(found) =>
          found.n_graded === 0 ? (
            <p className="muted">Nobody has grades of both in this period.</p>
          ) : (
            <Grades migration={found} />
          )
        }
      </Loaded>
    </Panel>
  )
}

function Grades({ migration: { cells, stable_share, n } }: { migration: Schemas['Migration'] }) {
  const rows = [...new Set(cells.map((one) => one.champion_grade))]
  const columns = [...new Set([...rows, ...cells.map((one) => one.challenger_grade)])]
  const found = (from: string | null, to: string | null) =>
    cells.find((one) => one.champion_grade === from && one.challenger_grade === to)
  return (
    <>
      <p>
        {percent(stable_share)} keep their grade ({sampleSize(n)}). Rows are the champion's grades,
        columns the challenger's.
      </p>
      <ScrollTable caption="Migration of grades" className="swap">
        <thead>
          <tr>
            <td />
            {columns.map((grade) => (
              <th key={grade} scope="col">
                {grade ?? 'none'}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((from) => (
            <tr key={from}>
              <th scope="row">{from ?? 'none'}</th>
              {columns.map((to) => {
                const cell = found(from, to)
                return (
                  <td key={to} className={from === to || cell === undefined ? '' : 'swap-in'}>
                    {cell === undefined ? (
                      <span className="muted">0</span>
                    ) : (
                      <>
                        {whole(cell.n)} <span className="muted">{percent(cell.row_share)}</span>
                      </>
                    )}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </ScrollTable>
    </>
  )
}
