import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { read, useAnswer } from '../../api/client.ts'
import {
  DEPLOYMENT_CHANGES,
  type Deployment,
  modelChoice,
  useModels,
} from '../../api/deployments.ts'
import { ApiError } from '../../api/errors.ts'
import { send } from '../../api/send.ts'
import { renewAnswers } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Dialog, Form } from '../../ui/dialog.tsx'
import { When } from '../../ui/facts.tsx'
import { Box, typed } from '../../ui/fields.tsx'
import { Loaded, Notice } from '../../ui/states.tsx'
import { PlainTable } from '../../ui/table.tsx'
import { AuditRecords } from '../audit/trail.tsx'
import { Subject } from './frame.tsx'
import { type Change, type Effect, type Inputs, makePlan } from './plan.ts'

const TAKEN_OVER =
  'Somebody else changed the deployment in the meantime. Below are the effects of your change now.'
const NEW_FEATURES = 'features_added'

/** Dialog for a change: shows its effects, makes it, and then says what has become of it. */
export function ChangeDialog(props: {
  deployment: Deployment
  change: Change
  onClose: () => void
}) {
  const { deployment, change, onClose } = props
  const [inputs, setInputs] = useState<Inputs>(() => firstInputs(deployment, change))
  const [done, setDone] = useState<Schemas['ChangeRequest'] | 'made' | null>(null)
  // The deployment when the dialog opened; the page behind it keeps reloading.
  const [present, setPresent] = useState(deployment)
  const [addsFeatures, setAddsFeatures] = useState(false)
  const plan = makePlan(present, change, inputs)
  const set = (more: Partial<Inputs>) => setInputs({ ...inputs, ...more })
  const make = async () => {
    if (plan.request === null) return
    const now = await read('/v1/deployments/{slug}', { path: { slug: present.slug } })
    if (now.cache_version !== present.cache_version) {
      setPresent(now)
      throw new ApiError('changed', TAKEN_OVER)
    }
    const answer = await send(plan.request).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === NEW_FEATURES) setAddsFeatures(true)
      throw error
    })
    setDone(isChangeRequest(answer) ? answer : 'made')
    void renewAnswers(DEPLOYMENT_CHANGES)
  }
  if (done !== null)
    return <Done title={plan.title} subject={present.slug} done={done} onClose={onClose} />
  return (
    <Dialog title={plan.title} onClose={onClose}>
      <Subject slug={present.slug} />
      <Form
        send={make}
        submit={plan.confirm}
        busy="Changing …"
        missing={plan.request === null ? (plan.fault ?? missingText(change)) : null}
        onCancel={onClose}
      >
        <Fields change={change} deployment={present} inputs={inputs} set={set} />
        <Effects effects={plan.effects} />
        {plan.notes.map((note) => (
          <p key={note} className="small muted">
            {note}
          </p>
        ))}
        {addsFeatures && (
          <Box
            label="Callers will send the new features"
            isTicked={inputs.acceptsFeatures}
            tick={(acceptsFeatures) => set({ acceptsFeatures })}
          />
        )}
      </Form>
    </Dialog>
  )
}

export function StoredRequest() {
  return (
    <Notice kind="watch">
      Nothing has changed yet: the change waits for another owner or admin.
    </Notice>
  )
}

/** Tells whether a change was stored as a request, because the deployment requires approval. */
export function isChangeRequest(answer: unknown): answer is Schemas['ChangeRequest'] {
  return typeof answer === 'object' && answer !== null && 'requested_by' in answer
}

function firstInputs(deployment: Deployment, change: Change): Inputs {
  const share = change.kind === 'share' ? String(change.challenger.traffic_pct) : ''
  const cutoff = (change.kind === 'cutoff' ? change.value : undefined) ?? deployment.cutoff
  const rest = { model: null, reason: '', isEmergency: false, acceptsFeatures: false }
  return { ...rest, share, cutoff: cutoff === null ? '' : String(cutoff) }
}

function missingText({ kind }: Change): string {
  if (kind === 'rollback') return 'A reason is required.'
  return kind === 'add' ? 'Choose a model and its share.' : 'Give a share.'
}

function Effects({ effects }: { effects: readonly Effect[] }) {
  if (effects.length === 0) return null
  return (
    <>
      <h3>What will change</h3>
      <PlainTable
        caption="What will change"
        head={['Setting', 'Now', 'Then']}
        rows={effects.map(({ what, before, after }) => [
          what,
          before,
          <strong key="then">{after}</strong>,
        ])}
      />
    </>
  )
}

function Receipt({ subject }: { subject: string }) {
  const query = { subject, limit: 1 }
  const newest = useAnswer('/v1/audit-log', { query }, { staleTime: 0 })
  return (
    <>
      <h3>Record in the audit log</h3>
      <Loaded of={newest}>
        {({ records }) => (
          <>
            <AuditRecords records={records} isOfOne />
            <code>{records[0]?.id}</code>
          </>
        )}
      </Loaded>
    </>
  )
}

function Done(props: {
  title: string
  subject: string
  done: Schemas['ChangeRequest'] | 'made'
  onClose: () => void
}) {
  const { title, subject, done, onClose } = props
  return (
    <Dialog title={title} onClose={onClose}>
      <Subject slug={subject} />
      {done === 'made' ? (
        <>
          <Notice kind="good">Done. The change is active.</Notice>
          <Receipt subject={subject} />
        </>
      ) : (
        <Notice kind="watch">
          Nothing has changed yet: the change waits for another owner or admin until{' '}
          <When at={done.expires_at} isExact />. Change request <code>{done.id}</code>.
        </Notice>
      )}
      <div className="form-end">
        <Button onClick={onClose}>Done</Button>
      </div>
    </Dialog>
  )
}

interface FieldsProps {
  readonly change: Change
  readonly deployment: Deployment
  readonly inputs: Inputs
  readonly set: (more: Partial<Inputs>) => void
}

function Fields({ change: { kind }, deployment, inputs, set }: FieldsProps) {
  const share = (
    <TextInput
      label="Share in percent"
      description="1 to 50; all challengers together at most 50"
      inputMode="decimal"
      {...typed(inputs.share, (text) => set({ share: text }))}
    />
  )
  if (kind === 'add') {
    return (
      <>
        <ModelChoice deployment={deployment} inputs={inputs} set={set} />
        {share}
      </>
    )
  }
  if (kind === 'share') return share
  if (kind === 'cutoff') {
    return (
      <TextInput
        label="Cut-off"
        description="Empty: the deployment has none."
        inputMode="decimal"
        {...typed(inputs.cutoff, (text) => set({ cutoff: text }))}
      />
    )
  }
  if (kind !== 'rollback' && kind !== 'promote') return null
  const mayHurry = kind === 'rollback' && deployment.require_approval
  return (
    <>
      <Textarea
        label="Reason"
        description={`${kind === 'promote' ? 'Optional; shown' : 'Shown'} in the audit log`}
        maxLength={10_000}
        {...typed(inputs.reason, (text) => set({ reason: text }))}
      />
      {mayHurry && deployment.emergency_rollback && (
        <Box
          label="This is an emergency: do not wait for approval"
          isTicked={inputs.isEmergency}
          tick={(isEmergency) => set({ isEmergency })}
        />
      )}
    </>
  )
}

/** The models that can become a challenger: active, in the champion's environment, unused here. */
function ModelChoice({ deployment, inputs, set }: Omit<FieldsProps, 'change'>) {
  const models = useModels()
  const { champion_model: champion, challengers } = deployment
  const taken = new Set([champion.id, ...challengers.map((one) => one.model_id)])
  return (
    <Loaded of={models}>
      {(all) => {
        const environment = all.find(({ id }) => id === champion.id)?.environment
        const found = all.filter(
          (one) => one.status === 'active' && one.environment === environment && !taken.has(one.id),
        )
        if (found.length === 0) {
          return (
            <Notice>
              There is no other active model in this environment.{' '}
              <Link to={'/models/new' as string}>Upload one</Link> without deploying it.
            </Notice>
          )
        }
        return (
          <NativeSelect
            label="Model"
            data={[{ value: '', label: 'Choose …' }, ...found.map(modelChoice)]}
            {...typed(inputs.model?.id ?? '', (chosen) =>
              set({ model: found.find(({ id }) => id === chosen) ?? null }),
            )}
          />
        )
      }}
    </Loaded>
  )
}
