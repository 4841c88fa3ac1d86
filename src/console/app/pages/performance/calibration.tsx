import type { Schemas } from '../../api/types.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { index, number, percent, signed, twoDecimals, whole } from '../../ui/figures.ts'
import { Light, type LightKind } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { between } from './verdicts.ts'

type Performance = Schemas['Performance']
type Grade = Schemas['GradeCalibration']

const LIGHTS: Readonly<Record<Schemas['CalibrationLight'], readonly [LightKind, string]>> = {
  green: ['good', 'Fits'],
  amber: ['watch', 'Watch'],
  red: ['act', 'Too low'],
}

/** Shows whether the probability of a grade fits, or fewer were bad than it says, beyond chance. */
function GradeLight({ grade }: { grade: Grade }) {
  const { light, mean_pd: pd, bad_rate_high: high } = grade
  if (light === null) return null
  if (pd !== null && high < pd) return <Light kind="watch">Too high</Light>
  const [kind, word] = LIGHTS[light]
  return <Light kind={kind}>{word}</Light>
}

export function Calibration({ found }: { found: Performance }) {
  const { grades, bands, hosmer_lemeshow: test } = found.calibration
  const { brier, spiegelhalter } = found
  if (found.n === 0) return null
  return (
    <Panel title="Do its probabilities fit?">
      {grades.length > 0 && (
        <DataTable
          caption="Calibration by grade"
          rows={grades}
          columns={[
            { head: 'Grade', cell: ({ grade }) => grade ?? 'none' },
            { head: 'Applicants', figure: ({ n }) => whole(n) },
            { head: 'Bad', figure: ({ bad }) => whole(bad) },
            { head: 'Expected', figure: (one) => percent(one.mean_pd) },
            { head: 'Observed', figure: (one) => percent(one.bad_rate) },
            {
              head: '95 percent interval',
              figure: (one) => between(one.bad_rate_low, one.bad_rate_high, percent),
            },
            { head: 'Probability', cell: (grade) => <GradeLight grade={grade} /> },
          ]}
        />
      )}
      {bands.length > 1 && (
        <Chart
          title="Expected and observed bads by score"
          at={bands.map(({ min }) => min)}
          atName="Score from"
          formatAt={number}
          format={percent}
          from={0}
          series={[
            {
              name: 'Observed, with interval',
              values: bands.map((one) => one.bad_rate),
              low: bands.map((one) => one.bad_rate_low),
              high: bands.map((one) => one.bad_rate_high),
            },
            { name: 'Expected', values: bands.map((one) => one.mean_pd), kind: 'dashed' },
          ]}
        />
      )}
      <p className="muted">
        {test &&
          `Hosmer-Lemeshow ${number(test.chi2)} with ${test.df} degrees of freedom, p ${index(test.p_value)}. `}
        {brier !== null && `Brier score ${index(brier)}. `}
        {spiegelhalter &&
          `Spiegelhalter z ${signed(spiegelhalter.z)}, p ${index(spiegelhalter.p_value)}.`}
      </p>
    </Panel>
  )
}

export function Gains({ found: { gains, n } }: { found: Performance }) {
  if (n === 0) return null
  return (
    <Panel title="What would a cut-off have approved?">
      <p className="muted">Bands from the best scores to the worst; each with all better ones.</p>
      <DataTable
        caption="Gains"
        rows={gains}
        columns={[
          {
            head: 'Scores',
            cell: (band) => `${number(band.min_score)} … ${number(band.max_score)}`,
          },
          { head: 'Applicants', figure: ({ count }) => whole(count) },
          { head: 'Bad rate', figure: (one) => percent(one.bad_rate) },
          {
            head: '95 percent interval',
            figure: (one) => between(one.bad_rate_low, one.bad_rate_high, percent),
          },
          { head: 'Approved', figure: (one) => percent(one.approval_rate) },
          { head: 'Bad rate of those', figure: (one) => percent(one.cum_bad_rate) },
          { head: 'Lift', figure: ({ lift }) => twoDecimals(lift) },
        ]}
      />
    </Panel>
  )
}
