import type { Schemas } from '../../api/types.ts'
import { binText, featureNames } from '../../ui/card.ts'
import { counted, number, signed } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { PlainTable } from '../../ui/plain-table.tsx'
import { binLabel } from '../../ui/reason-words.ts'

type Spec = Schemas['ScorecardSpec']
type Feature = Schemas['Feature']

/** Bins of which the widest bar is sought: a card can have thousands. */
const COMPARED_MAX = 10_000

export function Grades({ spec: { risk_grades: grades = [] } }: { spec: Spec }) {
  if (grades.length === 0) return null
  return (
    <Panel title="Risk grades">
      <PlainTable
        caption="Risk grades"
        head={['Grade', 'From', 'To']}
        figures={[1, 2]}
        rows={grades.map(({ grade, min_score: min, max_score: max }) => [
          <bdi key="grade">{grade}</bdi>,
          min === null ? 'no limit' : number(min),
          max === null ? 'no limit' : number(max),
        ])}
      />
    </Panel>
  )
}

export function Card({ spec }: { spec: Spec }) {
  const all = spec.features.flatMap(({ bins }) => bins.map(({ points }) => Math.abs(points)))
  const most = Math.max(1, ...all.slice(0, COMPARED_MAX))
  const nameFeature = featureNames(spec)
  return (
    <Panel title="Points">
      <p className="muted">
        The score is {number(spec.base_points)} base points plus the points of one bin for each of{' '}
        {counted(spec.features.length, 'feature')}.
      </p>
      <div className="cards">
        {spec.features.map((feature) => (
          <FeatureCard
            key={feature.name}
            feature={feature}
            label={nameFeature(feature.name)}
            most={most}
          />
        ))}
      </div>
    </Panel>
  )
}

function FeatureCard({ feature, label, most }: { feature: Feature; label: string; most: number }) {
  return (
    <article className="card">
      <h3>
        <bdi>{label}</bdi>
      </h3>
      <p className="small muted">
        <code>{feature.name}</code> {feature.type}
      </p>
      <PlainTable
        caption={`Points of ${label}`}
        head={[feature.type === 'numeric' ? 'Range' : 'Categories', 'Points', 'Bar']}
        figures={[1]}
        rows={feature.bins.map((bin) => [
          binLabel(bin) ?? binText(bin),
          signed(bin.points),
          <PointsBar key="bar" points={bin.points} most={most} />,
        ])}
      />
    </article>
  )
}

function PointsBar({ points, most }: { points: number; most: number }) {
  const width = `${Math.min(50, (50 * Math.abs(points)) / most)}%`
  const place = points < 0 ? { width, right: '50%' } : { width, left: '50%' }
  return (
    <span className="points-bar" aria-hidden="true">
      <span className={points < 0 ? 'less' : 'more'} style={place} />
    </span>
  )
}
