import { Button, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { medianBand, readCutoffs, useCutoffs, usePerformance } from '../../api/reports.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import type { Period } from '../../ui/complete-period.ts'
import { useDefinitionChoice } from '../../ui/definition-choice.tsx'
import { typed } from '../../ui/fields.tsx'
import { number, percent, readNumber, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { PeriodChoice } from '../../ui/period.tsx'
import { Empty, Loaded, Notice } from '../../ui/states.tsx'
import { ChangeDialog } from '../deployment/change-dialog.tsx'
import { DeploymentPage, useAbout } from '../deployment/frame.tsx'
import { Bands } from './bands.tsx'
import { Comparison } from './comparison.tsx'
import { type CurvePoint, calibrationFactor, cutoffFor, makeCurve } from './curve.ts'

/** As many as one request may name. */
const STEPS_MAX = 100
const STANDARD = '90'

/** The cut-off studio: what another cut-off would approve, as far as it is known. */
export default function CutoffsPage() {
  return (
    <DeploymentPage title="Cut-off studio" period={{ of: 'Applicants: ', standard: STANDARD }}>
      <Studio />
    </DeploymentPage>
  )
}

/** The ends of all score bands as cut-offs, so that the curve needs no further requests. */
function useCurve(slug: string, period: Period) {
  return useQuery({
    queryKey: ['/v1/deployments/{slug}/cutoffs', slug, period, 'curve'],
    queryFn: async ({ signal }) => {
      const { bands } = await readCutoffs(slug, period, [], signal)
      const ends = [...new Set(bands.flatMap(({ min, max }) => [min, max]))]
      const wide = Math.ceil(ends.length / STEPS_MAX)
      const cutoffs = ends.filter((_, index) => index % wide === 0)
      return readCutoffs(slug, period, cutoffs, signal)
    },
  })
}

function Studio() {
  const { deployment, period } = useAbout()
  const { slug } = deployment
  const curve = useCurve(slug, period)
  const [definition, choice] = useDefinitionChoice()
  const performance = usePerformance(slug, definition?.id)
  return (
    <>
      <div className="filters">
        <PeriodChoice standard={STANDARD} />
        {choice}
      </div>
      <Loaded of={curve}>
        {(found) =>
          found.n === 0 ? (
            <Empty title="No applicants in this period" hint="Choose a longer one." />
          ) : (
            <>
              <Chosen found={found} performance={performance.data ?? null} />
              <Bands found={found} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

/** Grades in the order of scores; none where low scores are good. */
function readGrades({ risk_grades: grades = [], scaling }: Schemas['ScorecardSpec']) {
  return (scaling?.pdo ?? 1) > 0 ? grades : []
}

function Chosen(props: { found: Schemas['Cutoffs']; performance: Schemas['Performance'] | null }) {
  const { found, performance } = props
  const { deployment, champion, period } = useAbout()
  const { mayManage } = useUser()
  const [search, change] = useAddress()
  const [isAsking, setAsking] = useState(false)
  const points = makeCurve(found, performance?.gains ?? [])
  const factor = performance === null ? null : calibrationFactor(performance)
  const present = deployment.cutoff
  const median = medianBand(found)
  const chosen = readNumber(search['cutoff'] ?? '') ?? present ?? median ?? 0
  const choose = (cutoff: number) => change({ cutoff: String(cutoff) })
  const exact = useCutoffs(deployment.slug, period, [
    ...new Set(present === null ? [chosen] : [chosen, present]),
  ])
  return (
    <>
      <Panel title="Approvals and bads">
        <Choice points={points} chosen={chosen} factor={factor ?? 1} choose={choose} />
        <Curves
          points={points}
          exact={exact.data?.cutoffs ?? []}
          chosen={chosen}
          present={present}
        />
        <Calibration factor={factor} performance={performance} />
      </Panel>
      <Panel
        title={
          present === null
            ? `Cut-off ${number(chosen)}`
            : `From ${number(present)} to ${number(chosen)}`
        }
        actions={
          mayManage &&
          chosen !== present && (
            <Button size="xs" onClick={() => setAsking(true)}>
              {deployment.require_approval ? 'Send for approval' : 'Set this cut-off'}
            </Button>
          )
        }
      >
        <Loaded of={exact}>
          {({ cutoffs }) => (
            <Comparison
              chosen={cutoffs.find(({ cutoff }) => cutoff === chosen)}
              present={cutoffs.find(({ cutoff }) => cutoff === present)}
              factor={factor}
              grades={readGrades(champion.spec)}
              shares={found.grades}
            />
          )}
        </Loaded>
      </Panel>
      {isAsking && (
        <ChangeDialog
          deployment={deployment}
          change={{ kind: 'cutoff', value: chosen }}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

interface ChoiceProps {
  readonly points: readonly CurvePoint[]
  readonly chosen: number
  readonly factor: number
  readonly choose: (cutoff: number) => void
}

/** Three ways to a cut-off: drag it, type it, or ask for a bad rate. All show the same. */
function Choice({ points, chosen, factor, choose }: ChoiceProps) {
  const cutoffs = points.map(({ cutoff }) => cutoff).toSorted((a, b) => a - b)
  const [limit, setLimit] = useState('')
  const [isNone, setNone] = useState(false)
  const solve = (event: FormEvent) => {
    event.preventDefault()
    const share = readNumber(limit.replace('%', ''))
    const found = share === null ? null : cutoffFor(points, share / 100, factor)
    setNone(found === null)
    if (found !== null) choose(found.cutoff)
  }
  return (
    <div className="form-row">
      <label className="slider">
        Drag the cut-off
        <input
          type="range"
          min={cutoffs[0] ?? 0}
          max={cutoffs.at(-1) ?? 1}
          step="1"
          value={chosen}
          aria-valuetext={number(chosen)}
          onChange={({ currentTarget }) => choose(Number(currentTarget.value))}
        />
      </label>
      <ExactCutoff key={chosen} chosen={chosen} choose={choose} />
      <form onSubmit={solve} className="form-row">
        <TextInput
          label="Bad rate at most, in percent"
          inputMode="decimal"
          {...(isNone && { error: 'No cut-off has so few bads.' })}
          {...typed(limit, setLimit)}
        />
        <Button type="submit" variant="default">
          Find the cut-off
        </Button>
      </form>
    </div>
  )
}

/** Takes a typed cut-off when it is a number and the field is left, or by Enter. */
function ExactCutoff({ chosen, choose }: Pick<ChoiceProps, 'chosen' | 'choose'>) {
  const [text, setText] = useState(String(chosen))
  const read = readNumber(text)
  const take = () => read !== null && read !== chosen && choose(read)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        take()
      }}
    >
      <TextInput
        label="Exact cut-off"
        inputMode="decimal"
        {...(read === null && { error: 'A number, as 460 or 460,5' })}
        {...typed(text, setText)}
        onBlur={take}
      />
    </form>
  )
}

function Curves(props: {
  points: readonly CurvePoint[]
  exact: Schemas['Cutoffs']['cutoffs']
  chosen: number
  present: number | null
}) {
  const { points, exact, chosen, present } = props
  const nearest = (cutoff: number) =>
    points.toSorted((a, b) => Math.abs(a.cutoff - cutoff) - Math.abs(b.cutoff - cutoff))[0]
  // While the exact share is asked for, the mark follows the points.
  const share = (sought: number) =>
    exact.find(({ cutoff }) => cutoff === sought)?.approval_rate ?? nearest(sought)?.approvalRate
  const marks = [
    ...(present === null ? [] : [{ cutoff: present, name: `now ${number(present)}` }]),
    ...(chosen === present ? [] : [{ cutoff: chosen, name: `chosen ${number(chosen)}` }]),
  ].map(({ cutoff, name }) => ({ at: share(cutoff) ?? 0, name }))
  const hasObserved = points.some(({ observed }) => observed !== null)
  return (
    <Chart
      title="Bad rate of those approved, by the share that is approved"
      at={points.map(({ approvalRate }) => approvalRate)}
      atName="Approved"
      formatAt={percent}
      format={percent}
      from={0}
      height={240}
      marks={marks}
      series={[
        { name: 'Expected', values: points.map(({ expected }) => expected), kind: 'dashed' },
        ...(hasObserved
          ? [
              {
                name: 'Observed, with interval',
                values: points.map(({ observed }) => observed),
                low: points.map(({ low }) => low),
                high: points.map(({ high }) => high),
              },
            ]
          : []),
      ]}
    />
  )
}

function Calibration(props: { factor: number | null; performance: Schemas['Performance'] | null }) {
  const { factor, performance } = props
  if (factor === null || performance === null) {
    return (
      <p className="muted">
        No outcomes are known, so bads are expected ones: the sum of the model's own probabilities.
      </p>
    )
  }
  return (
    <Notice kind={Math.abs(factor - 1) > 0.1 ? 'watch' : 'info'}>
      Of {whole(performance.n)} applicants with an outcome, {number(factor)} times as many were bad
      as the model expects. Bads of the comparison below are multiplied by that. Only booked
      applicants have outcomes: the rejected may differ.
    </Notice>
  )
}
