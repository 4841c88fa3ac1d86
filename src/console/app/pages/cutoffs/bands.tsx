import { Button } from '@mantine/core'
import { saveText } from '../../api/send.ts'
import type { Schemas } from '../../api/types.ts'
import { writeCsv } from '../../ui/csv-text.ts'
import { number, percent, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { periodWords } from '../../ui/period.tsx'
import { PlainTable } from '../../ui/table.tsx'
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
          rows={bands.map((band) => [`${number(band.min)} to below ${number(band.max)}`, band])}
        />
        {grades.length > 0 && (
          <Shares caption="By grade" rows={grades.map((one) => [one.grade ?? 'none', one])} />
        )}
      </div>
    </Panel>
  )
}

type Share = Pick<Schemas['CutoffGrade'], 'n' | 'share' | 'mean_pd' | 'expected_bads'>

function Shares(props: { caption: string; rows: readonly (readonly [name: string, Share])[] }) {
  const { caption, rows } = props
  return (
    <PlainTable
      caption={caption}
      head={[caption, 'Applicants', 'Share', 'Mean PD', 'Expected bads']}
      figures={[1, 2, 3, 4]}
      rows={rows.map(([name, { n, share, mean_pd: pd, expected_bads: bads }]) => [
        ...[name, whole(n), percent(share), percent(pd), whole(bads)],
      ])}
    />
  )
}
