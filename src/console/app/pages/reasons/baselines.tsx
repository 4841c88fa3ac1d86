import { Button, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, readData, useAnswer } from '../../api/client.ts'
import { renewAnswers, useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { RowButton, When } from '../../ui/facts.tsx'
import { useFields } from '../../ui/fields.tsx'
import { number, readNumber, whole } from '../../ui/figures.ts'
import { Badge, Panel } from '../../ui/page.tsx'
import { isObject, methodName } from '../../ui/reason-words.ts'
import { Empty, Failure, Loaded } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'
import { isChangeRequest, StoredRequest } from '../deployment/change-dialog.tsx'
import { useAbout } from '../deployment/frame.tsx'

type Baseline = Schemas['ListedReasonBaseline']
type Method = 'mean_all' | 'mean_at_cutoff'

const PATH = '/v1/deployments/{slug}/reason-baselines'
/** The newest baselines of a deployment; older ones are in the API. */
const LISTED_MAX = 50

/** The baselines that reasons are measured against, and which one is in force. */
export function Baselines() {
  const { deployment, champion } = useAbout()
  const { slug } = deployment
  const { mayDeploy } = useUser()
  const [isMaking, setMaking] = useState(false)
  const params = { path: { slug }, query: { limit: LISTED_MAX } }
  const listed = useAnswer(PATH, params, { select: (found) => found.reason_baselines })
  const putting = useMutation({
    mutationFn: ({ id, model_id }: Baseline) => {
      const body = { model_id, baseline_id: id }
      const init = { params: { path: { slug } }, body }
      return readData(api.PUT('/v1/deployments/{slug}/reason-baseline', init))
    },
    onSuccess: () => renewAnswers([PATH]),
  })
  const { reasons } = champion.spec as { reasons?: unknown }
  const method = isObject(reasons) ? String(reasons['method']) : ''
  if (method !== 'mean_all' && method !== 'mean_at_cutoff') {
    return (
      <Panel title="Baselines">
        <p className="muted">
          The card compares with: {methodName(method)}. It needs no baseline of scored applicants.
        </p>
      </Panel>
    )
  }
  const inForce = (one: Baseline) => {
    if (one.is_in_force) return <Badge kind="production">in force</Badge>
    if (!mayDeploy) return 'no'
    const put = () => putting.isPending || putting.mutate(one)
    return (
      <RowButton name={`Put the baseline ${one.id} in force`} onClick={put}>
        Put in force
      </RowButton>
    )
  }
  const hint = mayDeploy
    ? 'Make one from the applicants of a period, then put it in force.'
    : 'A lead modeler, admin or owner can make one.'
  return (
    <Panel
      title="Baselines"
      actions={
        mayDeploy && (
          <Button size="xs" variant="default" onClick={() => setMaking(true)}>
            Make a baseline
          </Button>
        )
      }
    >
      {isChangeRequest(putting.data) && <StoredRequest />}
      {putting.error && <Failure error={putting.error} />}
      <Loaded of={listed} empty={<Empty title="No baselines yet" hint={hint} />}>
        {(all) => (
          <PlainTable
            caption="Baselines"
            head={['Made', 'Compares with', 'Applicants', 'Mean total', 'In force']}
            figures={[2, 3]}
            rows={all.map((one) => [
              <When key="made" at={one.created_at} />,
              `${methodName(one.method)}${cutoffText(one)}${one.model_id === champion.id ? '' : ', of another model'}`,
              whole(one.n),
              number(one.mean_total),
              inForce(one),
            ])}
          />
        )}
      </Loaded>
      {isMaking && <MakeDialog method={method} onClose={() => setMaking(false)} />}
    </Panel>
  )
}

function cutoffText({ cutoff, band_points: points }: Baseline): string {
  return cutoff === null ? '' : ` (cut-off ${number(cutoff)}, ${number(points)} points)`
}

function MakeDialog({ method, onClose }: { method: Method; onClose: () => void }) {
  const { deployment, champion } = useAbout()
  const start = { cutoff: '', band_points: '', from: '', to: '', min_population: '' }
  const { fields, bind } = useFields(start)
  const figure = (name: keyof typeof start) => {
    const value = readNumber(fields[name])
    return value === null ? {} : { [name]: value }
  }
  const at = (name: 'from' | 'to') => (fields[name] ? { [name]: `${fields[name]}T00:00:00Z` } : {})
  const make = () => {
    const body = {
      model_id: champion.id,
      method,
      ...figure('cutoff'),
      ...figure('band_points'),
      ...at('from'),
      ...at('to'),
      ...figure('min_population'),
    }
    return readData(api.POST(PATH, { params: { path: { slug: deployment.slug } }, body }))
  }
  const isAtCutoff = method === 'mean_at_cutoff'
  return (
    <FormDialog
      title="Make a baseline"
      send={make}
      submit="Make it"
      busy="Counting …"
      changes={[PATH]}
      missing={isAtCutoff && readNumber(fields.cutoff) === null ? 'Give the cut-off.' : null}
      onClose={onClose}
    >
      <p>
        It averages the points of each feature: {methodName(method)}. A baseline never changes, and
        has no effect until it is put in force.
      </p>
      {isAtCutoff && (
        <>
          <TextInput label="Cut-off" description="Lowest score that passes" {...bind('cutoff')} />
          <TextInput
            label="Points beyond the cut-off"
            description="Empty: the points that double the odds"
            {...bind('band_points')}
          />
        </>
      )}
      <TextInput type="date" label="From (UTC)" {...bind('from')} />
      <TextInput type="date" label="Before (UTC)" {...bind('to')} />
      <TextInput label="Fewest applicants" description="Empty: 200" {...bind('min_population')} />
    </FormDialog>
  )
}
