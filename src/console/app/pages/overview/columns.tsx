import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/types.ts'
import { Sparkline } from '../../ui/chart/sparkline.tsx'
import { shortDay, when } from '../../ui/dates.ts'
import { index, NONE, percent, whole } from '../../ui/figures.ts'
import { ATTENTION_LIGHTS, Light } from '../../ui/light.tsx'
import { Badge, EnvironmentBadge, NameLink } from '../../ui/page.tsx'
import type { Column, Columns } from '../../ui/table.tsx'
import { describeReasons } from './reasons.ts'

type Deployment = Schemas['OverviewDeployment']
type Week = Schemas['OverviewWeek']

/** The PSI of a moderate shift, drawn as a line unless an alarm has levels of its own. */
const MODERATE_PSI = 0.1

export const COLUMNS: Columns<Deployment> = [
  {
    head: 'Deployment',
    cell: (row) => <Names deployment={row} />,
    value: ({ name }) => name.toLowerCase(),
    text: ({ name, slug, champion_model: model }) =>
      `${name} ${slug} ${model.name} ${model.version}`,
  },
  { head: 'What needs attention', cell: (row) => <Why deployment={row} />, text: describeReasons },
  series('Applicants', ({ volume }) => volume, whole, 'bars'),
  series('PSI', ({ psi }) => psi, index, 'line', MODERATE_PSI),
  series('Approvals', (week) => week.approval_rate, percent),
  series('Bad rate', (week) => week.bad_rate, percent),
  {
    head: 'Changes',
    cell: (row) => <Changes deployment={row} />,
    value: ({ last_change }) => last_change?.at ?? null,
  },
]

function series(
  head: string,
  read: (week: Week) => number | null,
  format: (value: number | null) => string,
  kind: 'line' | 'bars' = 'line',
  level?: number,
): Column<Deployment> {
  const newest = ({ weeks }: Deployment) => weeks.filter(isComplete).map(read).at(-1) ?? null
  const known = ({ weeks }: Deployment) =>
    weeks.filter((week) => isComplete(week) && read(week) !== null).at(-1)
  return {
    head,
    value: newest,
    cell: (row) => {
      const last = known(row)
      const values = row.weeks.filter(isComplete).map(read)
      if (last === undefined) return <span className="muted">{NONE}</span>
      const text = format(read(last))
      const weeks = values.length
      return (
        <span className="series small">
          <Sparkline
            values={values}
            kind={kind}
            level={row.alarm === null ? level : undefined}
            label={`${head} of ${weeks} weeks; in the week of ${shortDay(last.from)}: ${text}`}
          />
          <span title={`Week of ${shortDay(last.from)}`}>{text}</span>
        </span>
      )
    },
  }
}

function isComplete(week: Week): boolean {
  return week.is_complete
}

function Names({ deployment }: { deployment: Deployment }) {
  const { slug, name, environment, champion_model: model, challengers, is_active } = deployment
  const versions = challengers.map(({ version }) => version)
  return (
    <div className="names">
      <NameLink to={`/deployments/${slug}`} name={name} />
      <span className="badges">
        <EnvironmentBadge name={environment} />
        {!is_active && <Badge>inactive</Badge>}
      </span>
      <span className="small muted">
        Champion <bdi>{model.version}</bdi>
        {versions.length > 0 && (
          <>
            {', '}
            {deployment.shadow_mode ? 'in shadow ' : 'challenger '}
            <bdi>{versions.join(', ')}</bdi>
          </>
        )}
      </span>
    </div>
  )
}

function Why({ deployment }: { deployment: Deployment }) {
  const [kind, name] = ATTENTION_LIGHTS[deployment.attention]
  return (
    <div className="why">
      <Light kind={kind} isShort>
        {name}
      </Light>
      <span>{describeReasons(deployment)}</span>
    </div>
  )
}

function Changes({ deployment }: { deployment: Deployment }) {
  const { slug, waiting_changes: waiting, last_change: last } = deployment
  return (
    <div className="names">
      {waiting > 0 && (
        <Link to={`/deployments/${slug}/changes` as string} className="badge waiting">
          {waiting === 1 ? '1 waits for approval' : `${whole(waiting)} wait for approval`}
        </Link>
      )}
      <span className="small muted">{last === null ? NONE : when(last.at)}</span>
    </div>
  )
}
