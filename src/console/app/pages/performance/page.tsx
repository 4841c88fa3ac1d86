import { Button, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { api } from '../../api/client.ts'
import { useModelNames } from '../../api/deployments.ts'
import { useDefinitions, usePerformance } from '../../api/reports.ts'
import { renewAnswers, useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { useDefinitionChoice } from '../../ui/definition-choice.tsx'
import { Facts } from '../../ui/facts.tsx'
import { Act } from '../../ui/fields.tsx'
import { counted, percent, power, readNumber, whole } from '../../ui/figures.ts'
import { Light } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { PeriodChoice } from '../../ui/period.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DataTable, PlainTable } from '../../ui/table.tsx'
import { DeploymentPage, useAbout } from '../deployment/frame.tsx'
import { Calibration, Gains } from './calibration.tsx'
import { Months } from './months.tsx'
import { listAnswers, listPowers } from './verdicts.ts'
import { Vintages } from './vintages.tsx'
import { WrongBins } from './wrong-bins.tsx'

type Performance = Schemas['Performance']

const STANDARD = 'all'

/** Shows whether the card is still good, where it is wrong, and how sure that is. */
export default function PerformancePage() {
  return (
    <DeploymentPage
      title="Performance"
      period={{ of: 'Scores of ', standard: STANDARD }}
      actions={
        <Button component={Link} variant="default" to={'/outcomes' as string}>
          Outcomes and definitions
        </Button>
      }
    >
      <Defined />
    </DeploymentPage>
  )
}

function Defined() {
  const definitions = useDefinitions()
  const none = (
    <Empty title="No outcomes yet">
      <p>
        <Link to={'/outcomes' as string}>Define what counts as bad</Link>, then send outcomes.
      </p>
    </Empty>
  )
  return (
    <Loaded of={definitions} empty={none}>
      {() => <Report />}
    </Loaded>
  )
}

function Report() {
  const { deployment, champion, period } = useAbout()
  const { slug } = deployment
  const { mayDeploy } = useUser()
  const [search, change, bind] = useAddress()
  const [chosen, choice] = useDefinitionChoice()
  const development = readNumber(search['development'] ?? '')
  const isShare = development !== null && development >= 0 && development <= 1
  const asked = usePerformance(slug, chosen?.id, {
    ...period,
    development_auc: isShare ? development : undefined,
  })
  const known = asked.data?.verdicts.power.development_auc ?? null
  const keep = async (auc: number) => {
    const params = { path: { id: champion.id } }
    await api.PUT('/v1/models/{id}/baseline', { params, body: { development_auc: auc } })
    await renewAnswers(['/v1/deployments/{slug}/performance'])
    change({ development: undefined })
  }
  return (
    <>
      <div className="filters">
        {choice}
        <PeriodChoice standard={STANDARD} />
        <TextInput
          label="AUC at development (optional)"
          inputMode="decimal"
          placeholder={known === null ? '' : power(known)}
          {...(search['development'] && !isShare && { error: 'From 0 to 1, as 0.78' })}
          {...bind('development')}
        />
        {isShare && mayDeploy && <Act act={() => keep(development)}>Keep it with the model</Act>}
      </div>
      {chosen && (
        <p className="muted">
          Bad: {chosen.bad_rule_text} (within {counted(chosen.window_months, 'month')}).
        </p>
      )}
      <Loaded of={asked}>
        {(found) => (
          <>
            <Answers found={found} />
            <Calibration found={found} />
            <WrongBins found={found} />
            <Gains found={found} />
            <Coverage found={found} />
          </>
        )}
      </Loaded>
      {chosen && (
        <>
          <Months slug={slug} definition={chosen} />
          <Vintages slug={slug} definition={chosen.id} />
        </>
      )}
    </>
  )
}

function Answers({ found }: { found: Performance }) {
  const modelName = useModelNames()
  const { coverage, expected, n } = found
  if (n === 0) {
    const hint = 'The figures need outcomes of this definition, in this period.'
    return <Empty title="No good or bad outcome yet" hint={hint} />
  }
  return (
    <Panel title="Is the card still good?">
      <DataTable
        caption="Answers"
        rows={listAnswers(found, modelName)}
        columns={[
          { head: 'Question', cell: ({ question }) => question },
          { head: 'Answer', cell: ({ kind, answer }) => <Light kind={kind}>{answer}</Light> },
          { head: 'Because', cell: ({ because }) => because },
        ]}
      />
      <Facts
        facts={[
          ...listPowers(found),
          [
            'Known',
            percent(coverage.scored === 0 ? null : n / coverage.scored),
            `of ${whole(coverage.scored)} scored`,
          ],
          ['Mature', whole(coverage.mature), `of ${whole(coverage.matched)} with an outcome`],
        ]}
      />
      <p className="muted">
        Intervals of 95 percent. For {whole(expected.n)} applicants without an outcome the card
        itself expects {whole(expected.expected_bads)} bad ones and an AUC of {power(expected.auc)}:
        no outcome is behind that.
      </p>
    </Panel>
  )
}

const COVERAGE = [
  ['scored', 'Scored'],
  ['approved', 'Approved'],
  ['booked', 'Booked'],
  ['matched', 'With an outcome'],
  ['mature', 'Mature'],
  ['good', 'Good'],
  ['bad', 'Bad'],
  ['indeterminate', 'Indeterminate'],
  ['excluded', 'Excluded'],
] as const

function Coverage({ found: { coverage } }: { found: Performance }) {
  // Who sends outcomes alone has told of no decision.
  const hasDecisions = coverage.approved > 0
  const shown = COVERAGE.filter(([key]) => key !== 'approved' || hasDecisions)
  const { scored } = coverage
  return (
    <Panel title="How much is known?">
      <p className="muted">
        Rejected applicants have no outcome, and none is invented. An outcome that is not mature
        counts, and can still turn bad.
        {!hasDecisions && ' No decision was sent, so approvals are not known.'}
      </p>
      <PlainTable
        caption="Coverage"
        head={['Applicants', 'Number', 'Of the scored']}
        figures={[1, 2]}
        rows={shown.map(([key, name]) => [
          ...[name, whole(coverage[key]), percent(scored === 0 ? null : coverage[key] / scored)],
        ])}
      />
    </Panel>
  )
}
