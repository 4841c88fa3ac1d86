import { Button, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, useAnswer } from '../../api/client.ts'
import { DEPLOYMENT_CHANGES, useModel, useModelNames } from '../../api/deployments.ts'
import { useMemberNames } from '../../api/names.ts'
import { renewAnswers, useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { type FeatureName, featureNames, plainBin } from '../../ui/card.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { typed } from '../../ui/fields.tsx'
import { number, pct, percent, whole } from '../../ui/figures.ts'
import { plainName } from '../../ui/names.ts'
import { Failure, Loaded, Notice, Waiting } from '../../ui/states.tsx'
import { DataTable } from '../../ui/table.tsx'
import { ChallengerEvidence } from '../challengers/evidence.tsx'
import { Subject } from './frame.tsx'
import { describeSettings, effectsBetween } from './plan.ts'

type ChangeRequest = Schemas['ChangeRequest']
type Difference = Schemas['Difference']

/** A change that waits: first what decides, then the details, then the decision. */
export function ApprovalDialog(props: { request: ChangeRequest; onClose: () => void }) {
  const { request, onClose } = props
  const { userId, mayManage } = useUser()
  const memberName = useMemberNames()
  const [comment, setComment] = useState('')
  const { id } = request
  const detail = useAnswer('/v1/change-requests/{id}', { path: { id } })
  const deciding = useMutation({
    mutationFn: (decision: 'approve' | 'decline') => {
      const text = comment.trim()
      const init = { params: { path: { id } }, body: text === '' ? {} : { comment: text } }
      return decision === 'approve'
        ? api.POST('/v1/change-requests/{id}/approve', init)
        : api.POST('/v1/change-requests/{id}/decline', init)
    },
    onSuccess: () => {
      void renewAnswers(DEPLOYMENT_CHANGES)
      onClose()
    },
  })
  const isOwn = request.requested_by === userId
  const mayDecide = mayManage && !isOwn
  const decide = (decision: 'approve' | 'decline') => () =>
    deciding.isPending || deciding.mutate(decision)
  const promoted = promotedModel(request)
  const card = useModel(request.after.champion_model_id)
  const featureName = featureNames(card.data?.spec)
  return (
    <Dialog title={changeTitle(request)} onClose={onClose} isWide>
      <Subject slug={request.deployment_id} />
      <p>
        Asked by {memberName(request.requested_by)}
        {request.reason && (
          <>
            : “<bdi>{request.reason}</bdi>”
          </>
        )}
      </p>
      <NewFeatures features={request.features} featureName={featureName} />
      {promoted && (
        <ChallengerEvidence
          slug={request.deployment_id}
          challengerId={promoted.id}
          modelId={promoted.model_id}
        />
      )}
      <h3>What will change</h3>
      <Changes request={request} />
      <Loaded of={detail}>
        {({ difference }) => <Effects difference={difference} featureName={featureName} />}
      </Loaded>
      {isOwn && (
        <p className="small muted">You asked for this change: another owner or admin decides.</p>
      )}
      {mayDecide && (
        <Textarea
          label="Comment"
          description="Shown in the audit log"
          maxLength={10_000}
          {...typed(comment, setComment)}
        />
      )}
      <div className="form-end">
        <Waiting isPending={deciding.isPending} />
        {deciding.error && <Failure error={deciding.error} />}
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        {mayDecide && (
          <>
            <Button color="red" aria-disabled={deciding.isPending} onClick={decide('decline')}>
              Decline
            </Button>
            <Button aria-disabled={deciding.isPending} onClick={decide('approve')}>
              {deciding.isPending ? 'Deciding …' : 'Approve'}
            </Button>
          </>
        )}
      </div>
    </Dialog>
  )
}

/** The challenger that a request makes the champion; undefined for other changes. */
function promotedModel({ before, after }: ChangeRequest) {
  if (before.champion_model_id === after.champion_model_id) return undefined
  return before.challengers.find(({ model_id }) => model_id === after.champion_model_id)
}

function NewFeatures(props: {
  features: Schemas['FeatureChange'] | undefined
  featureName: FeatureName
}) {
  const { features, featureName } = props
  if (features === undefined) return null
  const { added, removed } = features
  return (
    <>
      {added.length > 0 && (
        <Notice kind="watch">
          Callers must begin to send: {added.map(featureName).join(', ')}.
        </Notice>
      )}
      {removed.length > 0 && <p>No longer used: {removed.map(featureName).join(', ')}.</p>}
    </>
  )
}

function Effects({
  difference: { shares, models, affected },
  featureName,
}: {
  difference: Difference
  featureName: FeatureName
}) {
  const modelName = useModelNames()
  return (
    <>
      <h3>Who is affected</h3>
      <p>{affectedText(affected)}</p>
      <DataTable
        caption="Shares of the models"
        rows={shares}
        columns={[
          { head: 'Model', cell: (one) => modelName(one.model_id) },
          { head: 'Now', figure: (one) => pct(one.before_pct) },
          { head: 'Then', figure: (one) => pct(one.after_pct) },
        ]}
      />
      {models && <Points models={models} featureName={featureName} />}
    </>
  )
}

const points = (value: number | null) => (value === null ? 'no such bin' : number(value))
const BINS_SHOWN = 50

function Points(props: { models: NonNullable<Difference['models']>; featureName: FeatureName }) {
  const { models, featureName } = props
  const { base_points: base, points: all, points_truncated: isCut } = models
  const rows = [
    { feature: '', bin: '', before: base.before, after: base.after },
    ...all.slice(0, BINS_SHOWN),
  ]
  return (
    <details>
      <summary>Points that differ, bin by bin</summary>
      <DataTable
        caption="Points by bin"
        rows={rows}
        columns={[
          {
            head: 'Feature',
            cell: ({ feature }) => (feature === '' ? 'Base points' : featureName(feature)),
          },
          { head: 'Bin', cell: ({ bin }) => plainBin(bin) },
          { head: 'Now', figure: ({ before }) => points(before) },
          { head: 'Then', figure: ({ after }) => points(after) },
        ]}
      />
      {(isCut || all.length > BINS_SHOWN) && (
        <p className="small muted">More bins differ than this list shows.</p>
      )}
    </details>
  )
}

function affectedText(affected: Difference['affected']): string {
  if (affected === null) return 'The log does not tell, or no score changes.'
  const { n, changed, undecided, share, is_complete: isComplete } = affected
  if (n === 0) return 'Nobody was scored by the present champion in the last 30 days.'
  const period = isComplete ? 'of the last 30 days' : 'that were scored last'
  const open = undecided === 0 ? '' : ` For ${whole(undecided)} the logged bins do not tell.`
  return `Of ${whole(n)} applicants ${period}, ${whole(changed)} would have another score.${open} With the shares below, the answers of ${percent(share)} change.`
}

type State = Schemas['RequestedState']

export function changeTitle({ action }: ChangeRequest): string {
  return plainName(action)
}

export function Changes({ request: { before, after } }: { request: ChangeRequest }) {
  const modelName = useModelNames()
  const changed = effectsBetween(described(before, modelName), described(after, modelName))
  return (
    <ul>
      {changed.map(({ what, before: was, after: willBe }) => (
        <li key={what}>
          <span className="muted">{what}</span> <del>{was}</del> → <ins>{willBe}</ins>
        </li>
      ))}
    </ul>
  )
}

function described(state: State, modelName: (id: string) => string): Map<string, string> {
  const { alarm, reason_baseline: baseline } = state
  return new Map([
    ['Name', state.name],
    ...describeSettings(state),
    ['Champion', modelName(state.champion_model_id)],
    ['Emergency rollback', state.emergency_rollback ? 'does not wait' : 'waits'],
    ...(alarm ? [['Alarm', alarmText(alarm)] as const] : []),
    ...(baseline ? [['Baseline of reasons', baseline.baseline_id ?? 'none'] as const] : []),
    ...state.challengers.map(
      (one) => [`Challenger ${modelName(one.model_id)}`, pct(one.traffic_pct)] as const,
    ),
  ])
}

function alarmText({ is_on, watch, act, n_min, days }: NonNullable<State['alarm']>): string {
  if (!is_on) return 'off'
  const levels = `from ${number(watch)} and ${number(act)}`
  return `${levels}, over ${whole(days)} days, from ${whole(n_min)} applicants`
}
