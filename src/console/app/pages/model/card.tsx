import type { Schemas } from '../../api/types.ts'
import { binText, featureNames } from '../../ui/card.ts'
import { counted, number, signed } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { binLabel } from '../../ui/reason-words.ts'
import { Bar, PlainTable } from '../../ui/table.tsx'

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
          <Bar
            key="bar"
            from={50}
            to={pointsEnd(bin.points, most)}
            kind={bin.points < 0 ? 'less' : 'more'}
          />,
        ])}
      />
    </article>
  )
}

/** From the middle: to the left for a loss of points. */
function pointsEnd(points: number, most: number): number {
  return 50 + Math.max(-50, Math.min(50, (50 * points) / most))
}
