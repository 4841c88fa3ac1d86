import { Link } from '@tanstack/react-router'
import { useAnswer } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { NONE, percent, whole } from '../../ui/figures.ts'
import { LanguageChoice } from '../../ui/language-choice.tsx'
import { withVersion } from '../../ui/names.ts'
import { Panel } from '../../ui/page.tsx'
import { PeriodChoice } from '../../ui/period.tsx'
import { codeText, hasReasons } from '../../ui/reason-words.ts'
import { Empty, Loaded } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'
import { DeploymentPage, useAbout } from '../deployment/frame.tsx'
import { Baselines } from './baselines.tsx'

const STANDARD = '90'

export default function ReasonsPage() {
  return (
    <DeploymentPage title="Reasons" period={{ of: '', standard: STANDARD }}>
      <Reasons />
    </DeploymentPage>
  )
}

function Reasons() {
  const { champion } = useAbout()
  if (hasReasons(champion.spec)) {
    return (
      <>
        <Counts />
        <Baselines />
      </>
    )
  }
  return (
    <Empty title="The champion gives no reasons">
      <p>
        The card <Link to={`/models/${champion.id}` as string}>has no reasons</Link>.
      </p>
    </Empty>
  )
}

function Counts() {
  const { deployment, champion, period } = useAbout()
  const [{ lang = 'en' }] = useAddress()
  const params = { path: { slug: deployment.slug }, query: period }
  const asked = useAnswer('/v1/deployments/{slug}/reason-counts', params)
  // A count reads the log, so another language takes its texts from the card.
  const readText = (code: string) => codeText(champion.spec, code, lang)
  return (
    <>
      <div className="filters">
        <PeriodChoice standard={STANDARD} />
        <LanguageChoice spec={champion.spec} />
      </div>
      <Panel title={`Reasons of ${withVersion(champion.name, champion.version)}`}>
        <Loaded of={asked}>{(counts) => <ByGrade counts={counts} readText={readText} />}</Loaded>
      </Panel>
    </>
  )
}

function ByGrade(props: { counts: Schemas['ReasonCounts']; readText: (code: string) => string }) {
  const { counts, readText } = props
  const { n, no_adverse_factor: empty, reasons, grades, more_codes: more } = counts
  const without = counts.without_baseline
  const readShare = (code: string, grade: (typeof grades)[number]) => {
    const found = grade.reasons.find((one) => one.code === code)
    // Where a grade lists only its most frequent codes, one that is not there is unknown.
    if (found === undefined && grade.more_codes > 0) return NONE
    return percent((found?.n ?? 0) / grade.n)
  }
  const about = without > 0 && (
    <p className="muted">
      {whole(without)} answers have no reasons, because no baseline was in force.
    </p>
  )
  if (n === 0) {
    return (
      <>
        {about}
        <Empty
          title="No answers with reasons in this period"
          hint="Choose a longer one, or put a baseline in force below."
        />
      </>
    )
  }
  return (
    <>
      {about}
      <p className="muted">
        {whole(n)} answers; {whole(empty)} of them have no adverse factor. Every answer counts,
        whether or not it was asked for reasons.
      </p>
      <PlainTable
        caption="Reasons by grade"
        head={[
          ...['Reason', 'Code', 'Answers', 'Share', 'First'],
          ...grades.map(({ grade }) => (grade === null ? 'No grade' : `In ${grade}`)),
        ]}
        figures={[2, 3, 4, ...grades.map((_, at) => 5 + at)]}
        rows={reasons.map((one) => [
          readText(one.code),
          <code key="code">{one.code}</code>,
          whole(one.n),
          percent(one.n / n),
          whole(one.first),
          ...grades.map((grade) => readShare(one.code, grade)),
        ])}
      />
      {more > 0 && <p className="muted">And {whole(more)} codes that are less frequent.</p>}
    </>
  )
}
