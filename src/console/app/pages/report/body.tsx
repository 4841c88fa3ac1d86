import { useModelNames } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import type { FeatureName } from '../../ui/card.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { monthName, shortDay, when } from '../../ui/dates.ts'
import { Facts } from '../../ui/facts.tsx'
import {
  counted,
  index,
  NONE,
  number,
  percent,
  power,
  signed,
  twoDecimals,
  whole,
} from '../../ui/figures.ts'
import { Light, VerdictLight } from '../../ui/light.tsx'
import { sentence } from '../../ui/names.ts'
import { Panel } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { didAlone } from '../audit/words.ts'
import { Calibration } from '../performance/calibration.tsx'
import { listAnswers, listPowers, writeDifference } from '../performance/verdicts.ts'
import { byIndex, conclude, unusualShare, worstVerdict } from '../stability/conclusion.ts'

type Report = Schemas['MonthlyReport']

interface ReportProps {
  readonly report: Report
  readonly featureName: FeatureName
  readonly definition: Schemas['OutcomeDefinition'] | undefined
}

export function ReportBody(props: ReportProps) {
  const { report } = props
  return (
    <>
      <Summary {...props} />
      <Stability {...props} />
      <Performance {...props} />
      {report.performance && <Calibration found={report.performance} />}
      <CutOff report={report} />
      <Changes report={report} />
      <Definitions {...props} />
    </>
  )
}

function Summary({ report, featureName }: ReportProps) {
  const modelName = useModelNames()
  const { stability, verdicts, performance } = report
  const answers = performance === null ? [] : listAnswers(performance, modelName)
  return (
    <Panel title="Summary">
      <p className="conclusion">
        <VerdictLight verdict={worstVerdict(stability)} />
      </p>
      <p>
        In {monthName(report.from)}, {counted(verdicts.n, 'applicant was', 'applicants were')}{' '}
        scored. {conclude(stability, [], featureName)}
      </p>
      {answers.length > 0 && (
        <ul className="gapped">
          {answers.map(({ question, kind, answer, because }) => (
            <li key={question}>
              {question} <Light kind={kind}>{answer}</Light>. {because}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function Stability({ report, featureName }: ReportProps) {
  const { stability, weeks } = report
  const { score } = stability
  return (
    <Panel title="Stability">
      <Facts
        facts={[
          ['PSI of the score', index(score.psi), `chance up to ${index(score.cv_95)}`],
          ['Mean score', twoDecimals(score.mean), `sample ${twoDecimals(score.mean_expected)}`],
          ['Applicants', whole(stability.n)],
          ['Levels', `${index(stability.watch)} and ${index(stability.act)}`],
        ]}
      />
      {weeks.length > 1 && (
        <Chart
          title="PSI of the score by week"
          at={weeks.map(({ from }) => Date.parse(from))}
          atName="Week from"
          formatAt={shortDay}
          format={index}
          from={0}
          height={150}
          levels={[
            { at: stability.watch, name: 'moderate' },
            { at: stability.act, name: 'major' },
          ]}
          series={[{ name: 'PSI', values: weeks.map((week) => week.stability.psi) }]}
        />
      )}
      <DataTable
        caption="Features, most moved first"
        rows={stability.features.toSorted(byIndex)}
        columns={[
          { head: 'Feature', cell: ({ name }) => featureName(name) },
          { head: 'Verdict', cell: ({ verdict }) => <VerdictLight verdict={verdict} /> },
          { head: 'PSI', figure: (one) => index(one.csi_psi) },
          { head: 'By chance', figure: (one) => index(one.cv_95) },
          { head: 'Points', figure: (one) => signed(one.csi_points, twoDecimals) },
          { head: 'Missing', figure: (one) => percent(unusualShare(one)) },
        ]}
      />
    </Panel>
  )
}

function Performance({ report: { performance: found, from } }: ReportProps) {
  const modelName = useModelNames()
  if (found === null || found.n === 0) {
    return (
      <Panel title="Performance">
        <p>No outcomes are known, so nothing can be said.</p>
      </Panel>
    )
  }
  const { paired } = found
  return (
    <Panel title="Performance">
      <p>Of applicants that this version scored in the year to the end of {monthName(from)}.</p>
      <Facts facts={listPowers(found)} />
      {paired.length > 0 && (
        <DataTable
          caption="Challengers on the same applicants"
          rows={paired}
          columns={[
            { head: 'Challenger', cell: (one) => modelName(one.model_id) },
            { head: 'Applicants', figure: ({ n }) => whole(n) },
            {
              head: 'AUC, champion’s',
              figure: (one) => `${power(one.auc)}, ${power(one.champion_auc)}`,
            },
            {
              head: 'Difference',
              figure: writeDifference,
            },
          ]}
        />
      )}
    </Panel>
  )
}

function CutOff({ report: { cutoff, cutoffs } }: { report: Report }) {
  const at = cutoffs.cutoffs.find((one) => one.cutoff === cutoff)
  return (
    <Panel title="Cut-off">
      {cutoff === null ? (
        <p>The deployment had no cut-off, so there is no share of approvals.</p>
      ) : (
        <p>
          At the cut-off of {number(cutoff)}, {percent(at?.approval_rate)} of {whole(cutoffs.n)}{' '}
          applicants are approved; by the model&apos;s probabilities {percent(at?.mean_pd_approved)}{' '}
          of them go bad.
        </p>
      )}
      {cutoffs.grades.length > 0 && (
        <DataTable
          caption="Grades of the month"
          rows={cutoffs.grades}
          columns={[
            { head: 'Grade', cell: ({ grade }) => grade ?? 'none' },
            { head: 'Applicants', figure: ({ n }) => whole(n) },
            { head: 'Share', figure: (one) => percent(one.share) },
            { head: 'Mean PD', figure: (one) => percent(one.mean_pd) },
          ]}
        />
      )}
    </Panel>
  )
}

function Changes({ report: { changes } }: { report: Report }) {
  return (
    <Panel title="Changes and their reasons">
      {changes.length === 0 ? (
        <p>Nothing was changed in this month.</p>
      ) : (
        <DataTable
          caption="Changes of the month"
          rows={changes}
          columns={[
            { head: 'When', cell: ({ at }) => when(at) },
            { head: 'Change', cell: ({ action }) => sentence(didAlone(action)) },
            { head: 'Reason', cell: ({ reason }) => <bdi>{reason ?? NONE}</bdi> },
          ]}
        />
      )}
    </Panel>
  )
}

function Definitions({
  report: { stability, checkpoint, as_known_at: at },
  definition,
}: ReportProps) {
  return (
    <Panel title="Definitions and signature">
      <dl className="definitions">
        <dt>PSI</dt>
        <dd>
          Sum over bins of (share now − share in the sample) × ln(share now / share in the sample).
          Moderate from {index(stability.watch)}, major from {index(stability.act)}. “Chance up to”:
          what a sample of this size exceeds in 5 of 100 cases if nothing has moved.
        </dd>
        <dt>Gini, AUC, KS</dt>
        <dd>
          AUC: the chance that a good applicant scores better than a bad one; Gini = 2 × AUC − 1.
          KS: the largest distance between the distributions of good and bad. Intervals of 95
          percent.
        </dd>
        <dt>Bad</dt>
        <dd>
          {definition === undefined
            ? 'Nothing is defined.'
            : `${definition.bad_rule_text} (within ${counted(definition.window_months, 'month')}).`}
        </dd>
        <dt>Reproducible</dt>
        <dd>
          Outcomes, baselines, models and cut-offs count as they were known on {when(at)}; the same
          link shows the same figures later.
        </dd>
        <dt>Log</dt>
        <dd>
          Checkpoint of {checkpoint.origin} over {counted(checkpoint.size, 'block')}, root{' '}
          <code>{checkpoint.root}</code>
          <pre className="letter">{checkpoint.checkpoint}</pre>
        </dd>
      </dl>
    </Panel>
  )
}
