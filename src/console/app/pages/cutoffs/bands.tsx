import { Button } from '@mantine/core'
import { saveText } from '../../api/send.ts'
import type { Schemas } from '../../api/types.ts'
import { writeCsv } from '../../ui/csv-text.ts'
import { number, percent, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { periodWords } from '../../ui/period.tsx'
import { DataTable } from '../../ui/table.tsx'
import { useAbout } from '../deployment/frame.tsx'

const HEAD = ['model_version', 'from', 'to', 'n', 'min', 'max', 'applicants', 'share', 'mean_pd']

export function Bands({ found }: { found: Schemas['Cutoffs'] }) {
  const { period } = useAbout()
  const { bands, grades, model_version: version, from, to, n } = found
  const save = () => {
    const rows = bands.map((band) => [
      ...[version, from, to, n, band.min, band.max],
      ...[band.n, band.share, band.mean_pd, band.expected_bads],
    ])
    saveText(
      `score-bands-${found.model_id}.csv`,
      writeCsv([...HEAD, 'expected_bads'], rows),
      'text/csv',
    )
  }
  return (
    <Panel
      title="By score band and grade"
      actions={
        <>
          <Button size="xs" variant="default" onClick={() => print()}>
            Print
          </Button>
          <Button size="xs" variant="default" onClick={save}>
            Save as CSV
          </Button>
        </>
      }
    >
      <p className="muted">
        {whole(n)} applicants, {periodWords(period)}, version {version}.
      </p>
      <div className="columns">
        <Shares
          caption="By score band"
          rows={bands.map((band) => ({
            ...band,
            name: `${number(band.min)} to below ${number(band.max)}`,
          }))}
        />
        {grades.length > 0 && (
          <Shares
            caption="By grade"
            rows={grades.map((one) => ({ ...one, name: one.grade ?? 'none' }))}
          />
        )}
      </div>
    </Panel>
  )
}

interface Share {
  readonly name: string
  readonly n: number
  readonly share: number | null
  readonly mean_pd: number | null
  readonly expected_bads: number | null
}

function Shares({ caption, rows }: { caption: string; rows: readonly Share[] }) {
  return (
    <DataTable
      caption={caption}
      rows={rows}
      columns={[
        { head: caption, cell: ({ name }) => name },
        { head: 'Applicants', figure: ({ n }) => whole(n) },
        { head: 'Share', figure: ({ share }) => percent(share) },
        { head: 'Mean PD', figure: ({ mean_pd: pd }) => percent(pd) },
        { head: 'Expected bads', figure: ({ expected_bads: bads }) => whole(bads) },
      ]}
    />
  )
}
